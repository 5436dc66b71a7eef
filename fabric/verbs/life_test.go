//go:build rdma

package verbs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/verbs"
)

// TestLongRNR waits for a receive longer than an adapter can count: the wait
// is ended here, not too early, and only if no receive comes.
func TestLongRNR(t *testing.T) {
	const limit = 4 * time.Second
	a, b := mustSide(t), mustSide(t)
	l := a.listen(t)
	accepted := make(chan error, 1)
	go func() { accepted <- a.accept(l, nil) }()
	cfg := b.config(fabric.RC)
	cfg.RNRTimeout = limit
	var err error
	if b.qp, err = b.dev.Dial(t.Context(), l.Addr(), cfg, nil); err != nil {
		t.Fatal(err)
	}
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}
	// Requests that run are not counted as waiting, signaled or not.
	for range 3 {
		if err := a.postRecv(64); err != nil {
			t.Fatal(err)
		}
	}
	wrs := []fabric.WR{
		{ID: 1, Op: fabric.OpSend, Local: b.mem.Seg(0, 64), Flags: fabric.FlagSignaled},
		{ID: 2, Op: fabric.OpSend, Local: b.mem.Seg(0, 64)},
		{ID: 3, Op: fabric.OpSend, Local: b.mem.Seg(0, 64)},
	}
	if _, err := b.qp.Post(wrs); err != nil {
		t.Fatal(err)
	}
	w, err := b.dev.NewWaiter(fabric.WaitConfig{CQs: []fabric.CQ{b.cq}, Spin: time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	var buf [8]fabric.Completion
	poll := func() bool {
		b.got = append(b.got, buf[:b.cq.Poll(buf[:])]...)
		return len(b.got) > 1
	}
	if w.Wait(poll, limit+time.Second) || len(b.got) != 1 || b.got[0].Err() != nil {
		t.Fatalf("completions %+v, state %v", b.got, b.qp.Err())
	}
	b.got = nil
	start := b.dev.Clock().Now()
	wrs = []fabric.WR{
		{ID: 4, Op: fabric.OpSend, Local: b.mem.Seg(0, 64)},
		{ID: 5, Op: fabric.OpWrite, Local: b.mem.Seg(0, 64), Remote: a.mem.Remote()},
	}
	if _, err := b.qp.Post(wrs); err != nil {
		t.Fatal(err)
	}
	if !w.Wait(poll, patience) {
		t.Fatal("nothing ends the wait")
	}
	if took := time.Duration(b.dev.Clock().Now() - start); took < limit || took > 2*limit {
		t.Errorf("gave up after %v, RNRTimeout is %v", took, limit)
	}
	if b.got[0].ID != 4 || b.got[0].Status != fabric.StatusRNRExceeded || b.got[1].ID != 5 || b.got[1].Status != fabric.StatusFlushed {
		t.Errorf("completions %+v", b.got)
	}
	if err := b.qp.Err(); !errors.Is(err, fabric.ErrCompletion) {
		t.Errorf("Err is %v", err)
	}
}

// TestConnectionManager connects with and without it, in all combinations.
func TestConnectionManager(t *testing.T) {
	open := func(cm string) *verbs.Device {
		cfg := testConfig()
		cfg.CM = cm
		d, err := verbs.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		return d
	}
	for _, c := range []struct {
		server, client string
		works          bool
	}{
		{"auto", "auto", true},
		{"on", "on", true},
		{"off", "off", true},
		{"on", "auto", true},
		{"auto", "off", true},
		{"off", "auto", true},
		{"on", "off", false},
		{"off", "on", false},
	} {
		a, b := open(c.server), open(c.client)
		err := exchange(t, a, b)
		if (err == nil) != c.works {
			t.Errorf("server cm=%s, client cm=%s: %v", c.server, c.client, err)
		}
	}
}

// exchange connects two devices and has one read the other's memory.
func exchange(t *testing.T, a, b *verbs.Device) error {
	t.Helper()
	sa, sb := fit(t, a), fit(t, b)
	copy(sa.mem.Bytes(), "over there")
	l := sa.listen(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	accepted := make(chan error, 1)
	go func() {
		r, err := l.Accept(ctx)
		if err == nil {
			sa.qp, err = r.Accept(ctx, sa.config(fabric.RC), nil)
		}
		accepted <- err
	}()
	var err error
	if sb.qp, err = b.Dial(ctx, l.Addr(), sb.config(fabric.RC), nil); err != nil {
		<-accepted
		sb.qp, sa.qp = nil, nil
		return err
	}
	if err := <-accepted; err != nil {
		return err
	}
	if err := sb.run(fabric.WR{Op: fabric.OpRead, Local: sb.mem.Seg(0, 10), Remote: sa.mem.Remote()}); err != nil {
		return err
	}
	if got := string(sb.mem.Bytes()[:10]); got != "over there" {
		return errors.New("read " + got)
	}
	return nil
}

// fit gives a device what a connection needs.
func fit(t *testing.T, d *verbs.Device) *side {
	t.Helper()
	s := &side{dev: d}
	var err error
	if s.dom, err = d.NewDomain(); err != nil {
		t.Fatal(err)
	}
	if s.cq, err = d.NewCQ(512); err != nil {
		t.Fatal(err)
	}
	if s.mem, err = s.dom.Alloc("test", 4096, everything); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// TestRevokedKeys makes and closes regions: no key comes back soon.
func TestRevokedKeys(t *testing.T) {
	s := mustSide(t)
	seen := map[uint32]int{}
	for i := range 600 {
		r, err := s.dom.Alloc("test", 64, fabric.RemoteRead)
		if err != nil {
			t.Fatal(err)
		}
		if last, ok := seen[r.Remote().Key]; ok {
			t.Fatalf("region %d has the key of region %d", i, last)
		}
		seen[r.Remote().Key] = i
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
