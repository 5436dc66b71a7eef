package tcp

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
)

// targetEnv makes the test binary the second process of a benchmark: one that
// listens, accepts and does nothing else.
const targetEnv = "REMORA_TCP_BENCH_TARGET"

func TestMain(m *testing.M) {
	if os.Getenv(targetEnv) != "" {
		if err := runTarget(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runTarget is the second process. It says its address on standard output,
// gives every peer one region in the private data, and ends with its standard
// input. With REMORA_TCP_BENCH_TARGET=echo it answers each SEND with one.
func runTarget() error {
	d, err := New(Config{Name: "target", Host: "127.0.0.1"})
	if err != nil {
		return err
	}
	dom, err := d.NewDomain()
	if err != nil {
		return err
	}
	mem, err := dom.Alloc("target", 16<<20, everything)
	if err != nil {
		return err
	}
	l, err := d.Listen(fabric.Addr{Fabric: "tcp", Name: "127.0.0.1:0"}, fabric.ListenConfig{})
	if err != nil {
		return err
	}
	go func() {
		for {
			if err := acceptOne(d, dom, mem, l); err != nil {
				return
			}
		}
	}()
	if _, err := fmt.Fprintln(os.Stdout, l.Addr()); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return d.Close()
}

func acceptOne(d fabric.Device, dom fabric.Domain, mem *fabric.Region, l fabric.Listener) error {
	r, err := l.Accept(context.Background())
	if err != nil {
		return err
	}
	cq, err := d.NewCQ(1024)
	if err != nil {
		return err
	}
	private := binary.LittleEndian.AppendUint64(nil, mem.Remote().Addr)
	private = binary.LittleEndian.AppendUint32(private, mem.Remote().Key)
	qp, err := r.Accept(context.Background(), fabric.QPConfig{
		Transport: r.Transport(), Domain: dom, SendCQ: cq, RecvCQ: cq, SendDepth: 512, RecvDepth: 512,
	}, private)
	if errors.Is(err, fabric.ErrPeerLost) {
		return cq.Close() // the peer has changed its mind
	}
	if err != nil {
		return err
	}
	if os.Getenv(targetEnv) == "echo" {
		go echo(d, dom, cq, qp)
		return nil
	}
	go func() {
		<-qp.Done()
		_ = qp.Close()
		_ = cq.Close()
	}()
	return nil
}

// echo answers each message of 64 bytes with one.
func echo(d fabric.Device, dom fabric.Domain, cq fabric.CQ, qp fabric.QP) {
	mem, err := dom.Alloc("echo", 64*256, 0)
	if err != nil {
		panic(err)
	}
	for i := range 256 {
		_, _ = qp.PostRecv([]fabric.RecvWR{{ID: uint64(i), Local: mem.Seg(i*64, 64)}})
	}
	w, err := d.NewWaiter(fabric.WaitConfig{CQs: []fabric.CQ{cq}})
	if err != nil {
		panic(err)
	}
	var cs [32]fabric.Completion
	wrs, recvs := make([]fabric.WR, 0, 32), make([]fabric.RecvWR, 0, 32)
	for qp.State() == fabric.StateReady {
		w.Wait(func() bool {
			n := cq.Poll(cs[:])
			wrs, recvs = wrs[:0], recvs[:0]
			for i := range cs[:n] {
				c := &cs[i]
				if c.Op != fabric.OpRecv || c.Status != fabric.StatusOK {
					continue
				}
				seg := mem.Seg(int(c.ID)*64, 64)
				wrs = append(wrs, fabric.WR{ID: c.ID, Op: fabric.OpSend, Local: seg, Flags: fabric.FlagInline | fabric.FlagSignaled})
				recvs = append(recvs, fabric.RecvWR{ID: c.ID, Local: seg})
			}
			_, _ = qp.PostRecv(recvs)
			_, _ = qp.Post(wrs)
			return n > 0
		}, 0)
	}
}

// target is the second process as the benchmark sees it.
type targetProcess struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	addr fabric.Addr
}

// startTarget starts the second process on CPU 0 and moves this one to CPU 1,
// where there are two.
func startTarget(tb testing.TB, mode string) *targetProcess {
	tb.Helper()
	p := &targetProcess{cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), targetEnv+"="+mode)
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if runtime.NumCPU() > 1 {
		pinProcess(0) // the child inherits it
		defer pinProcess(1)
	}
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		tb.Fatal(err)
	}
	if p.addr, err = fabric.ParseAddr(strings.TrimSpace(line)); err != nil {
		tb.Fatal(err)
	}
	return p
}

func (p *targetProcess) stop() {
	_ = p.in.Close()
	_ = p.cmd.Wait()
}

// pinProcess moves all threads of this process to one CPU.
func pinProcess(cpu int) {
	var set unix.CPUSet
	set.Set(cpu)
	tasks, _ := os.ReadDir("/proc/self/task")
	for _, t := range tasks {
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.SchedSetaffinity(tid, &set)
		}
	}
}

// dialTarget connects to the second process and returns its region.
func dialTarget(tb testing.TB, p *targetProcess, tr fabric.Transport, depth int) (*end, fabric.Remote) {
	tb.Helper()
	e := newEnd(tb, newDevice(tb, Config{}), tr, depth, 16<<20)
	qp, err := e.dev.Dial(context.Background(), p.addr, e.cfg, nil)
	if err != nil {
		tb.Fatal(err)
	}
	e.qp = qp
	private := qp.PeerPrivate()
	return e, fabric.Remote{Addr: binary.LittleEndian.Uint64(private), Key: binary.LittleEndian.Uint32(private[8:])}
}

// BenchmarkTarget measures one-sided operations at a second process whose
// program does nothing: window requests are in flight, and as many are posted
// again as were polled, in one chain.
func BenchmarkTarget(b *testing.B) {
	p := startTarget(b, "idle")
	defer p.stop()
	for _, op := range []fabric.Op{fabric.OpRead, fabric.OpWrite, fabric.OpFetchAdd} {
		for _, c := range []struct{ size, window int }{{64, 1}, {64, 16}, {64, 64}, {1024, 16}, {64 << 10, 16}, {1 << 20, 4}} {
			if op.Atomic() && c.size != 64 {
				continue
			}
			b.Run(fmt.Sprintf("%v/size=%d/window=%d", op, c.size, c.window), func(b *testing.B) {
				e, remote := dialTarget(b, p, fabric.RC, 512)
				defer e.close()
				size := c.size
				if op.Atomic() {
					size = 8
				}
				b.SetBytes(int64(size))
				e.stream(b, op, remote, size, c.window)
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
			})
		}
	}
}

// stream keeps a window of requests in flight.
func (e *end) stream(b *testing.B, op fabric.Op, remote fabric.Remote, size, window int) {
	wrs := make([]fabric.WR, window)
	for i := range wrs {
		wrs[i] = fabric.WR{ID: uint64(i), Op: op, Local: e.mem.Seg(i*size, size), Remote: remote.At(i * size), Flags: fabric.FlagSignaled}
	}
	cs := make([]fabric.Completion, window)
	posted, done := min(window, b.N), 0
	b.ResetTimer()
	e.post(wrs[:posted]...)
	for done < b.N {
		n := e.cq.Poll(cs)
		if n == 0 {
			continue
		}
		for i := range cs[:n] {
			if cs[i].Status != fabric.StatusOK {
				b.Fatal(cs[i].Err())
			}
		}
		done += n
		k := min(n, b.N-posted)
		e.post(wrs[:k]...)
		posted += k
	}
	b.StopTimer()
}

// BenchmarkConnections measures READs of 64 bytes over many connections that
// share a completion queue, 16 in flight on each.
func BenchmarkConnections(b *testing.B) {
	p := startTarget(b, "idle")
	defer p.stop()
	for _, conns := range []int{2, 4, 16, 64} {
		b.Run(fmt.Sprintf("READ/conns=%d", conns), func(b *testing.B) {
			e, remote := dialTarget(b, p, fabric.RC, 16*128)
			defer e.close()
			e.cfg.SendDepth, e.cfg.RecvDepth = 16, 1
			_ = e.qp.Close()
			byNum := map[uint32]fabric.QP{}
			for range conns {
				qp, err := e.dev.Dial(context.Background(), p.addr, e.cfg, nil)
				if err != nil {
					b.Fatal(err)
				}
				byNum[qp.Num()] = qp
			}
			wrs := make([]fabric.WR, 16)
			for i := range wrs {
				wrs[i] = fabric.WR{Op: fabric.OpRead, Local: e.mem.Seg(i*64, 64), Remote: remote, Flags: fabric.FlagSignaled}
			}
			cs := make([]fabric.Completion, 64)
			b.ResetTimer()
			for _, qp := range byNum {
				_, _ = qp.Post(wrs)
			}
			for done := 0; done < b.N; {
				n := e.cq.Poll(cs)
				done += n
				for i := 0; i < n; { // completions of one connection come together
					k := i + 1
					for k < n && cs[k].QPN == cs[i].QPN && k-i < 16 {
						k++
					}
					_, _ = byNum[cs[i].QPN].Post(wrs[:k-i])
					i = k
				}
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
			for _, qp := range byNum {
				_ = qp.Close()
			}
			e.qp = nil
		})
	}
}

// BenchmarkEcho measures a message there and one back, with a program at the
// other end that waits adaptively.
func BenchmarkEcho(b *testing.B) {
	p := startTarget(b, "echo")
	defer p.stop()
	for _, window := range []int{1, 16} {
		b.Run(fmt.Sprintf("size=64/window=%d", window), func(b *testing.B) {
			e, _ := dialTarget(b, p, fabric.RC, 512)
			defer e.close()
			cs := make([]fabric.Completion, 64)
			one := func(n int) {
				for i := range n {
					e.recv(uint64(i), 64*i, 64)
				}
				wrs := make([]fabric.WR, n)
				for i := range wrs {
					wrs[i] = fabric.WR{Op: fabric.OpSend, Local: e.mem.Seg(1<<20, 64), Flags: fabric.FlagInline | fabric.FlagSignaled}
				}
				e.post(wrs...)
			}
			b.ResetTimer()
			one(min(window, b.N))
			for done, posted := 0, min(window, b.N); done < b.N; {
				n := e.cq.Poll(cs)
				got := 0
				for i := range cs[:n] {
					if cs[i].Status != fabric.StatusOK {
						b.Fatal(cs[i].Err())
					}
					if cs[i].Op == fabric.OpRecv {
						got++
					}
				}
				done += got
				if k := min(got, b.N-posted); k > 0 {
					one(k)
					posted += k
				}
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
		})
	}
}
