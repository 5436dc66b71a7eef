package tcp

import (
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
)

func countGoroutines() int { return runtime.NumGoroutine() }

func countFiles(tb testing.TB) int {
	tb.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		tb.Skip("no /proc")
	}
	return len(list)
}

// TestReconnectStorm connects and closes in many goroutines at once: nothing
// is left.
func TestReconnectStorm(t *testing.T) {
	d, c := newDevice(t, Config{}), newDevice(t, Config{})
	l, err := d.Listen(fabric.Addr{Fabric: "tcp", Name: "127.0.0.1:0"}, fabric.ListenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	const clients, rounds = 8, 25
	var accepted atomic.Int64
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var servers, wg sync.WaitGroup
	servers.Go(func() {
		for {
			r, err := l.Accept(ctx)
			if err != nil {
				return
			}
			servers.Go(func() {
				e := newEnd(t, d, r.Transport(), 8, 4096)
				defer e.close()
				var err error
				if e.qp, err = r.Accept(ctx, e.cfg, nil); err != nil {
					t.Error(err)
					return
				}
				accepted.Add(1)
				<-e.qp.Done()
				if err := e.qp.Err(); !errors.Is(err, fabric.ErrDisconnected) {
					t.Error(err)
				}
			})
		}
	})
	goroutines, files := countGoroutines(), countFiles(t)
	for range clients {
		wg.Go(func() {
			e := newEnd(t, c, fabric.RC, 8, 4096)
			defer e.close()
			for range rounds {
				qp, err := c.Dial(ctx, l.Addr(), e.cfg, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if err := qp.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	await(t, "all to be gone", func() bool {
		return accepted.Load() == clients*rounds && countGoroutines() <= goroutines && countFiles(t) <= files
	})
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	servers.Wait()
}

// TestDisconnectUnderFire disconnects with requests and receives outstanding:
// each completes once, in order, and nothing hangs (G11, G13).
func TestDisconnectUnderFire(t *testing.T) {
	for i := range 30 {
		a, b := newPair(t, fabric.RC)
		for j := range 32 {
			a.recv(uint64(j), 0, 64)
			b.recv(uint64(j), 0, 64)
		}
		wrs := make([]fabric.WR, 32)
		for j := range wrs {
			wrs[j] = fabric.WR{
				ID: uint64(j), Op: fabric.OpRead, Local: b.mem.Seg(j*20_000, 20_000), Remote: a.mem.Remote(),
				Flags: fabric.FlagSignaled,
			}
			if j%3 == 0 {
				wrs[j].Op = fabric.OpWrite
			}
		}
		b.post(wrs...)
		end := a
		if i%2 == 1 {
			end = b
		}
		go func() { _ = end.qp.Disconnect() }()
		var sends, recvs uint64
		broken := false
		for _, c := range b.take(64) {
			id := &sends
			if c.Op == fabric.OpRecv {
				id = &recvs
			}
			if c.ID != *id {
				t.Fatalf("completion %+v, want ID %d", c, *id)
			}
			*id++
			if c.Status != fabric.StatusOK {
				broken = true
			} else if broken && c.Op != fabric.OpRecv {
				t.Fatalf("%+v after a failure", c)
			}
		}
		a.take(32)
		want, other := fabric.ErrDisconnected, fabric.ErrClosed
		if end == b {
			want, other = other, want
		}
		if !errors.Is(b.qp.Err(), want) || !errors.Is(a.qp.Err(), other) {
			t.Fatalf("b is broken by %v, a by %v", b.qp.Err(), a.qp.Err())
		}
	}
}

// TestKill lets a device vanish: its peers notice by themselves (G13).
func TestKill(t *testing.T) {
	a, b := newPair(t, fabric.RC)
	b.recv(1, 0, 64)
	a.dev.Kill()
	select {
	case <-b.qp.Done():
	case <-time.After(patience):
		t.Fatal("the peer did not notice")
	}
	if err := b.qp.Err(); !errors.Is(err, fabric.ErrPeerLost) {
		t.Error(err)
	}
	if c := b.take(1)[0]; c.Status != fabric.StatusFlushed {
		t.Error(c)
	}
}

// TestIPv6 connects over IPv6 and sends datagrams there.
func TestIPv6(t *testing.T) {
	probe, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("this host has no IPv6")
	}
	_ = probe.Close()
	a := newEnd(t, newDevice(t, Config{Host: "::1"}), fabric.RC, 64, 4096)
	b := newEnd(t, newDevice(t, Config{Host: "::1"}), fabric.RC, 64, 4096)
	defer a.close()
	defer b.close()
	l, err := a.dev.Listen(fabric.Addr{Fabric: "tcp", Name: "[::1]:0"}, fabric.ListenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if again, err := fabric.ParseAddr(l.Addr().String()); err != nil || again.Name != l.Addr().Name {
		t.Errorf("%v reads as %v, %v", l.Addr(), again, err)
	}
	connectAt(t, l, a, b)
	b.post(fabric.WR{Op: fabric.OpRead, Local: b.mem.Seg(0, 64), Remote: a.mem.Remote(), Flags: fabric.FlagSignaled})
	b.ok(1)
	_, _ = a.qp.Close(), b.qp.Close()

	a.cfg.Transport, b.cfg.Transport = fabric.UD, fabric.UD
	for _, e := range []*end{a, b} {
		if e.qp, err = e.dom.NewUD(e.cfg); err != nil {
			t.Fatal(err)
		}
	}
	h, err := b.dom.NewAddressHandle(context.Background(), a.qp.Address())
	if err != nil {
		t.Fatal(err)
	}
	a.recv(1, 0, 1024)
	b.post(fabric.WR{Op: fabric.OpSend, Local: b.mem.Seg(0, 100), To: h, Flags: fabric.FlagSignaled})
	b.ok(1)
	a.ok(1)
}

// TestHostIsLearned: datagram queue pairs are reached where connections are.
func TestHostIsLearned(t *testing.T) {
	d := newDevice(t, Config{Name: "learns"})
	e := newEnd(t, d, fabric.UD, 16, 4096)
	defer e.close()
	l, err := d.Listen(fabric.Addr{Fabric: "tcp", Name: "127.0.0.1:0"}, fabric.ListenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if e.qp, err = e.dom.NewUD(e.cfg); err != nil {
		t.Fatal(err)
	}
	var a gramAddr
	if err := a.decode(e.qp.Address()); err != nil || net.IP(a.ip[:]).String() != "127.0.0.1" {
		t.Errorf("the address is %v, %v", net.IP(a.ip[:]), err)
	}
}

// TestKeysDiffer: keys and addresses are not to be guessed from others.
func TestKeysDiffer(t *testing.T) {
	d := newDevice(t, Config{})
	dom, err := d.NewDomain()
	if err != nil {
		t.Fatal(err)
	}
	secrets, places := map[uint32]bool{}, map[uint64]bool{}
	for range 64 {
		r, err := dom.Alloc("key", 64, everything)
		if err != nil {
			t.Fatal(err)
		}
		secrets[r.Remote().Key>>tableBits] = true
		places[r.Remote().Addr%(1<<regionSpan)] = true
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(secrets) < 60 || len(places) < 60 {
		t.Errorf("64 regions had %d different secrets and %d different places", len(secrets), len(places))
	}
}

// TestSocketOptions: small frames are not held back, and a dead host is noticed.
func TestSocketOptions(t *testing.T) {
	a := newEnd(t, newDevice(t, Config{PeerTimeout: 16 * time.Second, SocketBuffer: 300_000}), fabric.RC, 8, 4096)
	b := newEnd(t, newDevice(t, Config{}), fabric.RC, 8, 4096)
	defer a.close()
	defer b.close()
	connect(t, a, b)
	q, ok := a.qp.(*conn)
	if !ok {
		t.Fatalf("Accept made a %T", a.qp)
	}
	for _, o := range []struct {
		name             string
		level, opt, want int
	}{
		{"TCP_NODELAY", unix.IPPROTO_TCP, unix.TCP_NODELAY, 1},
		{"SO_KEEPALIVE", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		{"TCP_KEEPIDLE", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 8},
		{"TCP_KEEPINTVL", unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 2},
		{"TCP_USER_TIMEOUT", unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 16_000},
	} {
		if got, err := unix.GetsockoptInt(q.fd, o.level, o.opt); err != nil || got != o.want {
			t.Errorf("%s is %d, %v, want %d", o.name, got, err, o.want)
		}
	}
	if got, err := unix.GetsockoptInt(q.fd, unix.SOL_SOCKET, unix.SO_RCVBUF); err != nil || got < 300_000 {
		t.Errorf("SO_RCVBUF is %d, %v", got, err)
	}
}
