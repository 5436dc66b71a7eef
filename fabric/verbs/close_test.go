//go:build rdma

package verbs

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// within fails the test when f takes longer than anything may.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	select {
	case <-done:
	case <-ctx.Done():
		t.Fatalf("%s does not end", what)
	}
}

// TestNumberGivenAway closes a queue pair whose number the adapter has given
// to another one already.
func TestNumberGivenAway(t *testing.T) {
	s := newHost(t)
	first, err := s.dev.newConnected(s.config())
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.dev.newConnected(s.config())
	if err != nil {
		t.Fatal(err)
	}
	s.dev.mu.Lock()
	delete(s.dev.qps, second.num)
	second.num = first.num
	s.dev.qps[second.num] = second
	s.dev.mu.Unlock()
	first.abandon()
	if s.dev.qp(second.num) != second {
		t.Error("the device has lost the queue pair that has the number now")
	}
	second.abandon()
	if s.dev.qp(second.num) != nil {
		t.Error("the device keeps a closed queue pair")
	}
}

// TestBusyConnecting asks a device for its counters while a queue pair looks
// for its peer on the network.
func TestBusyConnecting(t *testing.T) {
	s := newHost(t)
	q, err := s.dev.newConnected(s.config())
	if err != nil {
		t.Fatal(err)
	}
	release, busy := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(release) }) // before the device is closed
	go func() {
		_ = q.withHW(func() error {
			close(busy)
			<-release
			return nil
		})
	}()
	<-busy
	within(t, "Counters", func() { _ = s.dev.Counters() })
	within(t, "Err", func() { _ = q.Err() })
}

// TestBrokenBeforeControl starts the control connection of a queue pair that has
// broken meanwhile: the peer is notified.
func TestBrokenBeforeLink(t *testing.T) {
	s := newHost(t)
	q, err := s.dev.newConnected(s.config())
	if err != nil {
		t.Fatal(err)
	}
	near, far := tcpPair(t)
	if err := q.Disconnect(); err != nil {
		t.Fatal(err)
	}
	if err := s.dev.startControl(q, near); err != nil {
		t.Fatal(err)
	}
	_ = far.SetReadDeadline(base.Until(5 * time.Second))
	var buf [maxBody]byte
	if k, body, err := readMessage(far, &buf); k != kindBye || len(body) != 1 || err != nil {
		t.Errorf("the peer hears message %d, %x, %v; want a bye", k, body, err)
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
}

// tcpPair returns the ends of a connection.
func tcpPair(t *testing.T) (near, far *net.TCPConn) {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	//lint:ignore errcheck it is one
	if near, err = net.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr)); err != nil {
		t.Fatal(err)
	}
	if far, err = l.AcceptTCP(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return near, far
}

// TestWaitOnClosedQueue waits with a waiter whose queue was closed before it.
func TestWaitOnClosedQueue(t *testing.T) {
	s := newHost(t)
	w, err := s.dev.NewWaiter(fabric.WaitConfig{CQs: []fabric.CQ{s.cq}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cq.Close(); err != nil {
		t.Fatal(err)
	}
	var out [1]fabric.Completion
	if w.Wait(func() bool { return s.cq.Poll(out[:]) != 0 }, 20*time.Millisecond) {
		t.Error("a closed queue has a completion")
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// TestPendingKeepsAwake leaves a completion where no event tells of it: in
// memory, after a look at another queue.
func TestPendingKeepsAwake(t *testing.T) {
	s := newHost(t)
	w, err := s.dev.NewWaiter(fabric.WaitConfig{CQs: []fabric.CQ{s.cq}, Spin: time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	cq, ok := s.cq.(*CQ)
	if !ok {
		t.Fatal("not a completion queue of this package")
	}
	cq.stash = append(cq.stash, workCompletion{})
	if w.Wait(func() bool { return false }, 50*time.Millisecond); w.Sleeps() != 0 {
		t.Errorf("slept %d times over a completion", w.Sleeps())
	}
}

// TestCloseWhileMaking closes a device while others make things of it, which
// they may (T2). Nothing is left, and nothing is freed twice.
func TestCloseWhileMaking(t *testing.T) {
	for range 12 {
		s := newHost(t)
		addr := gramAddress{ethernet: s.dev.adapter.Load().choice.Ethernet, gid: s.dev.adapter.Load().choice.GID.Addr.As16(), qpn: 17}
		var group sync.WaitGroup
		var made atomic.Int64
		for i := range 4 {
			group.Add(1)
			go func() {
				defer group.Done()
				for {
					var closer interface{ Close() error }
					var err error
					if i%2 == 0 {
						closer, err = s.dom.Alloc("test", 4096, fabric.RemoteRead)
					} else {
						closer, err = s.dom.NewAddressHandle(t.Context(), addr.encode())
					}
					if err != nil {
						if !errors.Is(err, fabric.ErrClosed) {
							t.Errorf("after %d: %v", made.Load(), err)
						}
						return
					}
					if made.Add(1)%3 == 0 {
						_ = closer.Close()
					}
				}
			}()
		}
		for made.Load() < 50 {
			<-time.After(time.Millisecond)
		}
		if err := s.dev.Close(); err != nil {
			t.Error(err)
		}
		group.Wait()
	}
}

// TestDisconnectWhileReviving has datagrams that are too long break and revive
// a queue pair while it is disconnected: every receive comes back.
func TestDisconnectWhileReviving(t *testing.T) {
	const receives = 32
	a, b := newHost(t), newHost(t)
	mem, err := a.dom.Alloc("test", receives*64, 0)
	if err != nil {
		t.Fatal(err)
	}
	long, err := b.dom.Alloc("test", 4096, 0)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 30 {
		cfg := fabric.QPConfig{Transport: fabric.UD, SendCQ: a.cq, RecvCQ: a.cq, SendDepth: 8, RecvDepth: receives}
		target, err := a.dom.NewUD(cfg)
		if err != nil {
			t.Fatal(err)
		}
		cfg.SendCQ, cfg.RecvCQ = b.cq, b.cq
		source, err := b.dom.NewUD(cfg)
		if err != nil {
			t.Fatal(err)
		}
		to, err := b.dom.NewAddressHandle(t.Context(), target.Address())
		if err != nil {
			t.Fatal(err)
		}
		for i := range receives {
			if _, err := target.PostRecv([]fabric.RecvWR{{ID: uint64(i), Local: mem.Seg(64*i, 64)}}); err != nil {
				t.Fatal(err)
			}
		}
		go func() {
			for i := range 4 {
				_, _ = source.Post([]fabric.WR{{Op: fabric.OpSend, Local: long.Seg(0, 512), To: to}})
				if i == 1 {
					<-time.After(time.Duration(round*37%200) * time.Microsecond)
				}
			}
			_ = target.Disconnect()
		}()
		var out [8]fabric.Completion
		next := uint64(0)
		start := a.dev.clock.Now()
		for next < receives {
			for _, c := range out[:a.cq.Poll(out[:])] {
				if c.ID != next || c.Status != fabric.StatusFlushed && c.Status != fabric.StatusLocalLength {
					t.Fatalf("round %d: receive %d completed as %+v", round, next, c)
				}
				next++
			}
			if a.dev.clock.Now()-start > int64(10*time.Second) {
				t.Fatalf("round %d: %d of %d receives came back, state %v: %v", round, next, receives, target.State(), target.Err())
			}
		}
		if err := errors.Join(target.Close(), source.Close(), to.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCloseAfterDevice closes what a device had after the device itself, with
// completions that nobody has polled.
func TestCloseAfterDevice(t *testing.T) {
	a, b := newHost(t), newHost(t)
	qa, qb := connect(t, a, b, a.listen(0))
	mem, err := b.dom.Alloc("test", 4096, fabric.RemoteWrite)
	if err != nil {
		t.Fatal(err)
	}
	far, err := a.dom.Alloc("test", 4096, fabric.RemoteWrite)
	if err != nil {
		t.Fatal(err)
	}
	w := fabric.WR{Op: fabric.OpWrite, Local: mem.Seg(0, 8), Remote: far.Remote(), Flags: fabric.FlagSignaled}
	for range 6 {
		if _, err := qb.Post([]fabric.WR{w}); err != nil {
			t.Fatal(err)
		}
		<-time.After(5 * time.Millisecond) // until it is done
	}
	if err := errors.Join(b.dev.Close(), qb.Close(), mem.Close(), b.cq.Close(), b.dom.Close()); err != nil {
		t.Error(err)
	}
	<-qa.Done()
	if err := qa.Err(); !errors.Is(err, fabric.ErrDisconnected) {
		t.Errorf("the other side: %v, want ErrDisconnected", err)
	}
}
