package tcp

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// patience is the timeout of tests.
const patience = 2 * time.Minute

// newDevice makes a device that the test closes.
func newDevice(tb testing.TB, cfg Config) *Device {
	tb.Helper()
	if cfg.Host == "" && cfg.Name != "learns" {
		cfg.Host = "127.0.0.1"
	}
	d, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = d.Close() })
	dev, ok := d.(*Device)
	if !ok {
		tb.Fatalf("New made a %T", d)
	}
	return dev
}

// end is one side of a connection with everything it needs.
type end struct {
	tb   testing.TB
	dev  *Device
	dom  fabric.Domain
	cq   fabric.CQ
	cfg  fabric.QPConfig
	mem  *fabric.Region
	qp   fabric.QP
	done []fabric.Completion
	buf  [64]fabric.Completion
}

const everything = fabric.RemoteRead | fabric.RemoteWrite | fabric.RemoteAtomic

// newEnd makes an end without a queue pair.
func newEnd(tb testing.TB, d *Device, tr fabric.Transport, depth, size int) *end {
	tb.Helper()
	e := &end{tb: tb, dev: d}
	var err error
	if e.dom, err = d.NewDomain(); err != nil {
		tb.Fatal(err)
	}
	if e.cq, err = d.NewCQ(2 * depth); err != nil {
		tb.Fatal(err)
	}
	if e.mem, err = e.dom.Alloc("test", size, everything); err != nil {
		tb.Fatal(err)
	}
	e.cfg = fabric.QPConfig{
		Transport: tr, Domain: e.dom, SendCQ: e.cq, RecvCQ: e.cq,
		SendDepth: depth, RecvDepth: depth, RNRTimeout: fabric.RNRForever,
	}
	return e
}

// close releases what newEnd made.
func (e *end) close() {
	if e.qp != nil {
		_ = e.qp.Close()
	}
	for _, f := range []func() error{e.mem.Close, e.cq.Close, e.dom.Close} {
		if err := f(); err != nil {
			e.tb.Errorf("closing: %v", err)
		}
	}
}

// connect connects b to a.
func connect(tb testing.TB, a, b *end) {
	tb.Helper()
	l, err := a.dev.Listen(fabric.Addr{Fabric: "tcp", Name: "127.0.0.1:0"}, fabric.ListenConfig{})
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	connectAt(tb, l, a, b)
}

func connectAt(tb testing.TB, l fabric.Listener, a, b *end) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	accepted := make(chan error, 1)
	go func() {
		r, err := l.Accept(ctx)
		if err == nil {
			a.qp, err = r.Accept(ctx, a.cfg, []byte("from a"))
		}
		accepted <- err
	}()
	var err error
	if b.qp, err = b.dev.Dial(ctx, l.Addr(), b.cfg, []byte("from b")); err != nil {
		tb.Fatal(err)
	}
	if err := <-accepted; err != nil {
		tb.Fatal(err)
	}
}

// newPair connects b to a, each on a device of its own.
func newPair(tb testing.TB, tr fabric.Transport) (a, b *end) {
	tb.Helper()
	a = newEnd(tb, newDevice(tb, Config{Name: "a"}), tr, 64, 1<<20)
	b = newEnd(tb, newDevice(tb, Config{Name: "b"}), tr, 64, 1<<20)
	connect(tb, a, b)
	tb.Cleanup(func() { a.close(); b.close() })
	return a, b
}

// post posts requests, all of which must be taken.
func (e *end) post(wrs ...fabric.WR) {
	e.tb.Helper()
	if n, err := e.qp.Post(wrs); err != nil || n != len(wrs) {
		e.tb.Fatalf("Post took %d of %d: %v", n, len(wrs), err)
	}
}

// recv posts a receive.
func (e *end) recv(id uint64, off, n int) {
	e.tb.Helper()
	if k, err := e.qp.PostRecv([]fabric.RecvWR{{ID: id, Local: e.mem.Seg(off, n)}}); err != nil || k != 1 {
		e.tb.Fatalf("PostRecv: %v", err)
	}
}

// poll collects completions.
func (e *end) poll() int {
	n := e.cq.Poll(e.buf[:])
	e.done = append(e.done, e.buf[:n]...)
	return n
}

// take waits for n completions and returns them, without looking at others.
func (e *end) take(n int, others ...*end) []fabric.Completion {
	e.tb.Helper()
	await(e.tb, "completions", func() bool {
		e.poll()
		for _, o := range others {
			o.poll()
		}
		return len(e.done) >= n
	})
	cs := e.done[:n:n]
	e.done = e.done[n:]
	return cs
}

// ok is take, and all must be good.
func (e *end) ok(n int, others ...*end) []fabric.Completion {
	e.tb.Helper()
	cs := e.take(n, others...)
	for i := range cs {
		if err := cs[i].Err(); err != nil {
			e.tb.Fatal(err)
		}
	}
	return cs
}

// await waits until cond holds.
func await(tb testing.TB, what string, cond func() bool) {
	tb.Helper()
	end := base.Until(patience)
	for i := 1; !cond(); i++ {
		runtime.Gosched()
		if i%64 == 0 && base.Until(0).After(end) {
			tb.Fatalf("timed out waiting for %s", what)
		}
	}
}
