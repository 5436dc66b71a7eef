//go:build rdma

package verbs_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/verbs"
)

const everything = fabric.RemoteRead | fabric.RemoteWrite | fabric.RemoteAtomic

// patience is the timeout of tests.
const patience = 20 * time.Second

// side is one end of a connection with what it needs.
type side struct {
	dev *verbs.Device
	dom fabric.Domain
	cq  fabric.CQ
	mem *fabric.Region
	qp  fabric.QP
	got []fabric.Completion // polled and not looked at
}

func newSide() (*side, error) { return newSideOn(testConfig()) }

func newSideOn(cfg verbs.Config) (*side, error) {
	dev, err := verbs.New(cfg)
	if err != nil {
		return nil, err
	}
	s := &side{dev: dev}
	if s.dom, err = dev.NewDomain(); err != nil {
		return nil, err
	}
	if s.cq, err = dev.NewCQ(512); err != nil {
		return nil, err
	}
	s.mem, err = s.dom.Alloc("test", 1<<20, everything)
	return s, err
}

func mustSide(t *testing.T) *side {
	t.Helper()
	s, err := newSide()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

func (s *side) close() {
	if s.qp != nil {
		_ = s.qp.Close()
	}
	_ = s.cq.Close()
	_ = s.mem.Close()
	_ = s.dom.Close()
	_ = s.dev.Close()
}

func (s *side) config(tr fabric.Transport) fabric.QPConfig {
	return fabric.QPConfig{
		Transport: tr, Domain: s.dom, SendCQ: s.cq, RecvCQ: s.cq, SendDepth: 128, RecvDepth: 128,
		RNRTimeout: fabric.RNRForever,
	}
}

func (s *side) listen(t *testing.T) fabric.Listener {
	t.Helper()
	l, err := s.dev.Listen(fabric.Addr{Fabric: "rdma", Name: "127.0.0.1:0"}, fabric.ListenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func (s *side) accept(l fabric.Listener, private []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := l.Accept(ctx)
	if err != nil {
		return err
	}
	s.qp, err = r.Accept(ctx, s.config(r.Transport()), private)
	return err
}

func (s *side) dial(addr string, tr fabric.Transport, private []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var err error
	s.qp, err = s.dev.Dial(ctx, fabric.Addr{Fabric: "rdma", Name: addr}, s.config(tr), private)
	return err
}

// until polls until cond holds.
func (s *side) until(what string, cond func() bool) error {
	var buf [32]fabric.Completion
	for start := s.dev.Clock().Now(); ; runtime.Gosched() {
		n := s.cq.Poll(buf[:])
		s.got = append(s.got, buf[:n]...)
		if cond() {
			return nil
		}
		if s.dev.Clock().Now()-start > int64(patience) {
			return fmt.Errorf("timed out waiting for %s", what)
		}
	}
}

// next returns the next completion.
func (s *side) next() (fabric.Completion, error) {
	if err := s.until("a completion", func() bool { return len(s.got) > 0 }); err != nil {
		return fabric.Completion{}, err
	}
	c := s.got[0]
	s.got = s.got[1:]
	return c, nil
}

// run posts a signaled request and waits for it.
func (s *side) run(w fabric.WR) error {
	w.Flags |= fabric.FlagSignaled
	if _, err := s.qp.Post([]fabric.WR{w}); err != nil {
		return err
	}
	c, err := s.next()
	if err != nil {
		return err
	}
	return c.Err()
}

func (s *side) postRecv(n int) error {
	_, err := s.qp.PostRecv([]fabric.RecvWR{{ID: 1, Local: s.mem.Seg(4096, n)}})
	return err
}

// wantBroken waits until the queue pair has broken for the given reason.
func (s *side) wantBroken(t *testing.T, cause error) {
	t.Helper()
	if err := s.until("the end", func() bool { return s.qp.State() == fabric.StateError }); err != nil {
		t.Fatal(err)
	}
	if err := s.qp.Err(); !errors.Is(err, cause) {
		t.Fatalf("Err is %v, want %v", err, cause)
	}
}
