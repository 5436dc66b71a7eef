package shm_test

import (
	"context"
	"testing"

	"github.com/remora-kv/remora/fabric"
)

// benchEnd is one side of a connection with its memory.
type benchEnd struct {
	cq  fabric.CQ
	dom fabric.Domain
	qp  fabric.QP
	reg *fabric.Region
}

func newBenchEnd(b *testing.B, d fabric.Device) *benchEnd {
	b.Helper()
	e := &benchEnd{}
	var err error
	if e.dom, err = d.NewDomain(); err != nil {
		b.Fatal(err)
	}
	if e.cq, err = d.NewCQ(256); err != nil {
		b.Fatal(err)
	}
	if e.reg, err = e.dom.Alloc("bench", 1<<16, fabric.RemoteRead|fabric.RemoteWrite); err != nil {
		b.Fatal(err)
	}
	return e
}

func (e *benchEnd) config() fabric.QPConfig {
	return fabric.QPConfig{Transport: fabric.RC, Domain: e.dom, SendCQ: e.cq, RecvCQ: e.cq}
}

func benchPair(b *testing.B) (server, client *benchEnd) {
	b.Helper()
	w := newWorld(b)
	server, client = newBenchEnd(b, w.A), newBenchEnd(b, w.B)
	l, err := w.A.Listen(w.Listen(), fabric.ListenConfig{})
	if err != nil {
		b.Fatal(err)
	}
	accepted := make(chan error, 1)
	go func() {
		r, err := l.Accept(context.Background())
		if err == nil {
			server.qp, err = r.Accept(context.Background(), server.config(), nil)
		}
		accepted <- err
	}()
	if client.qp, err = w.B.Dial(context.Background(), l.Addr(), client.config(), nil); err != nil {
		b.Fatal(err)
	}
	if err := <-accepted; err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = client.qp.Close()
		_ = server.qp.Close()
		_ = w.A.Close()
		_ = w.B.Close()
	})
	return server, client
}

// BenchmarkRead64 is the cost of one READ, from Post to the polled completion.
func BenchmarkRead64(b *testing.B) {
	s, c := benchPair(b)
	wr := []fabric.WR{{
		Op: fabric.OpRead, Flags: fabric.FlagSignaled, Local: c.reg.Seg(0, 64), Remote: s.reg.Remote(),
	}}
	var out [16]fabric.Completion
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.qp.Post(wr); err != nil {
			b.Fatal(err)
		}
		for c.cq.Poll(out[:]) == 0 {
		}
		if out[0].Status != fabric.StatusOK {
			b.Fatal(out[0].Status)
		}
	}
}

// BenchmarkWrite64 is the cost of one unsignaled WRITE.
func BenchmarkWrite64(b *testing.B) {
	s, c := benchPair(b)
	wr := []fabric.WR{{Op: fabric.OpWrite, Local: c.reg.Seg(0, 64), Remote: s.reg.Remote()}}
	var out [16]fabric.Completion
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		wr[0].Flags = 0
		if i&63 == 63 {
			wr[0].Flags = fabric.FlagSignaled
		}
		if _, err := c.qp.Post(wr); err != nil {
			b.Fatal(err)
		}
		for i&63 == 63 && c.cq.Poll(out[:]) == 0 {
		}
	}
}
