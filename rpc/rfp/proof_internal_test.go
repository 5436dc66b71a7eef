package rfp

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/loop"
	"github.com/remora-kv/remora/rpc"
)

// unpromising is a device that does not promise the order that it keeps.
type unpromising struct{ fabric.Device }

// Limits implements fabric.Device.
func (d unpromising) Limits() fabric.Limits {
	lim := d.Device.Limits()
	lim.InOrder = false
	return lim
}

// pair is a client and a core, driven by one goroutine.
type pair struct {
	b    *testing.B
	core *core
	conn *Conn
	msg  []byte
}

func newPair(b *testing.B, proof bool, cfg ConnConfig, size int) *pair {
	net := loop.NewNetwork()
	open := func(name string) fabric.Device {
		d, err := net.NewDevice(name)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = d.Close() })
		if proof {
			return unpromising{d}
		}
		return d
	}
	s, err := newServer(ServerConfig{Device: open("server"), Serve: func(_ *rpc.Call, msg, out []byte) ([]byte, error) {
		return append(out, msg...), nil
	}})
	if err != nil {
		b.Fatal(err)
	}
	addr, err := s.Listen(fabric.Addr{Fabric: "loop", Name: "server"}, fabric.ListenConfig{})
	if err != nil {
		b.Fatal(err)
	}
	cfg.Device = open("client")
	c, err := Dial(context.Background(), addr, cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	return &pair{b: b, core: s.base.Cores[0], conn: c, msg: make([]byte, size)}
}

// calls makes calls, and returns how long one took.
func (p *pair) calls(n int) time.Duration {
	start := time.Now()
	for sent, got := 0, 0; got < n; {
		for ; sent < n && p.conn.Outstanding() < p.conn.cfg.Batch; sent++ {
			if err := p.conn.Send(1, p.msg); err != nil {
				p.b.Fatal(err)
			}
		}
		if sent == n {
			_ = p.conn.Flush()
		}
		p.core.step()
		for ; ; got++ {
			if _, _, ok := p.conn.Next(); !ok {
				break
			}
		}
	}
	return time.Since(start) / time.Duration(n)
}

// BenchmarkProof compares calls whose frames prove themselves with those whose do not: the CPU time of
// both ends, in turns, each at its best.
func BenchmarkProof(b *testing.B) {
	for _, mode := range []Mode{Fetch, Reply} {
		for _, batch := range []int{1, 16} {
			for _, size := range []int{32, 512} {
				b.Run(fmt.Sprintf("%v/batch=%d/bytes=%d", mode, batch, size), func(b *testing.B) {
					cfg := ConnConfig{Batch: batch, Policy: fabric.Busy, Params: Params{Pinned: true, Mode: mode, FetchSize: 16 + batch*(size+4)}}
					without, with := newPair(b, false, cfg, size), newPair(b, true, cfg, size)
					best := [2]time.Duration{time.Hour, time.Hour}
					for b.Loop() {
						for i, p := range []*pair{without, with} {
							best[i] = min(best[i], p.calls(500))
						}
					}
					b.ReportMetric(float64(best[0]), "without-ns/call")
					b.ReportMetric(float64(best[1]), "with-ns/call")
				})
			}
		}
	}
}
