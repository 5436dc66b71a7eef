package herd_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/herd"
	"github.com/remora-kv/remora/test/scale"
)

// A reply QP that breaks is replaced, again and again, and its clients notice nothing
// but time: every call takes effect once (H12).
func TestBrokenReplyQPIsReplaced(t *testing.T) {
	calls := scale.Times(400)
	if testing.Short() || scale.Race {
		calls = 100
	}
	for name, inline := range map[string]int{"inline": 0, "referenced": -1} {
		t.Run(name, func(t *testing.T) {
			eachFabric(t, func(t *testing.T, r *rig) {
				r.Plan = "seed=11; ud.break=2%; ud.drop=1%"
				r.HandleCount()
				s := r.serve(herd.ServerConfig{Cores: 2, Inline: inline})
				r.Plan = ""
				var wg sync.WaitGroup
				for which := range 3 {
					c := r.dial(herd.ConnConfig{Window: 1 + 5*which, RetryAfter: time.Millisecond})
					wg.Go(func() {
						if err := countUp(c, uint32(which), calls, 100*which); err != nil {
							t.Errorf("%v; %+v", err, c.Stats())
						}
					})
				}
				wg.Wait()
				if st := s.Stats(); st.ReplyQPsReplaced == 0 || st.Cut+st.Lost+st.Failures != 0 || st.Calls != uint64(3*2*calls) {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}

// Clients that come and go while reply QPs break leave nothing behind: the server does not wait
// for the completion of a SEND that will never come.
func TestBrokenReplyQPKeepsNobody(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.Plan = "seed=12; ud.break=10%"
		r.HandleCount()
		s := r.serve(herd.ServerConfig{Inline: -1})
		r.Plan = ""
		for i := range scale.Times(12) {
			if err := r.ComeAndGoOnce(uint32(i), i%3, r.visit); err != nil {
				t.Fatal(err)
			}
		}
		await(t, "their places to be free", func() bool { return s.Stats().Clients == 0 })
	})
}

// stingy is a device whose first domain, that of the reply QPs, has no more datagram queue
// pairs while none is set.
type stingy struct {
	fabric.Device
	domains atomic.Int32
	none    atomic.Bool
}

// NewDomain implements fabric.Device.
func (d *stingy) NewDomain() (fabric.Domain, error) {
	dom, err := d.Device.NewDomain()
	if d.domains.Add(1) == 1 && err == nil {
		return stingyDomain{dom, d}, nil
	}
	return dom, err
}

type stingyDomain struct {
	fabric.Domain
	dev *stingy
}

var errNoMore = errors.New("no more queue pairs")

// NewUD implements fabric.Domain.
func (d stingyDomain) NewUD(cfg fabric.QPConfig) (fabric.QP, error) {
	if d.dev.none.Load() {
		return nil, errNoMore
	}
	return d.Domain.NewUD(cfg)
}

// When it cannot be made anew its clients are cut off with a reason, and those that come
// back are served as soon as it can.
func TestReplyQPThatStaysBroken(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.Plan = "ud.break@op=3"
		dev := &stingy{Device: r.NewDevice()}
		r.Plan = ""
		var log lines
		s, err := herd.NewServer(herd.ServerConfig{
			Devices: []fabric.Device{dev}, Serve: r.Mux.Serve, Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		if r.Addr, err = s.Listen(dev, r.Listen, fabric.ListenConfig{}); err != nil {
			t.Fatal(err)
		}
		c := r.dial(herd.ConnConfig{RetryAfter: time.Millisecond})
		dev.none.Store(true)
		for err = nil; err == nil; {
			_, err = call(c, 0, procEcho, []byte("x"))
		}
		if !errors.Is(err, fabric.ErrDisconnected) {
			t.Errorf("%v", err)
		}
		await(t, "the client to be gone", func() bool { return s.Stats().Clients == 0 })
		if st := s.Stats(); st.CutByReplyQP != 1 || st.ReplyQPsReplaced != 0 {
			t.Errorf("%+v", st)
		}
		if !strings.Contains(log.String(), errNoMore.Error()) {
			t.Errorf("the log does not say why: %s", log.String())
		}
		dev.none.Store(false)
		if got, err := call(r.dial(herd.ConnConfig{RetryAfter: time.Millisecond}), 0, procEcho, []byte("back")); err != nil || string(got) != "back" {
			t.Errorf("%q, %v", got, err)
		}
		if st := s.Stats(); st.ReplyQPsReplaced == 0 {
			t.Errorf("%+v", st)
		}
	})
}

// busy is a device whose reply QP has no completions while it is not open: an adapter that has not come to
// send what was posted.
type busy struct {
	fabric.Device
	domains atomic.Int32
	open    atomic.Bool
}

type busyCQ struct {
	fabric.CQ
	dev *busy
}

// Poll implements fabric.CQ.
func (c busyCQ) Poll(out []fabric.Completion) int {
	if !c.dev.open.Load() {
		return 0
	}
	return c.CQ.Poll(out)
}

// NewCQ implements fabric.Device.
func (d *busy) NewCQ(depth int) (fabric.CQ, error) {
	cq, err := d.Device.NewCQ(depth)
	if depth != busyDepth+1 || err != nil {
		return cq, err
	}
	return busyCQ{cq, d}, nil
}

// busyDepth is how many SENDs of its reply QP can be outstanding.
const busyDepth = 8

// Limits implements fabric.Device.
func (d *busy) Limits() fabric.Limits {
	l := d.Device.Limits()
	l.MaxDepth = busyDepth
	return l
}

// NewWaiter implements fabric.Device.
func (d *busy) NewWaiter(cfg fabric.WaitConfig) (fabric.Waiter, error) {
	for i, cq := range cfg.CQs {
		if b, ok := cq.(busyCQ); ok {
			cfg.CQs[i] = b.CQ
		}
	}
	return d.Device.NewWaiter(cfg)
}

// NewDomain implements fabric.Device. The first domain is that of the reply QPs.
func (d *busy) NewDomain() (fabric.Domain, error) {
	dom, err := d.Device.NewDomain()
	if d.domains.Add(1) == 1 && err == nil {
		return busyDomain{dom}, nil
	}
	return dom, err
}

type busyDomain struct{ fabric.Domain }

// NewUD implements fabric.Domain.
func (d busyDomain) NewUD(cfg fabric.QPConfig) (fabric.QP, error) {
	if b, ok := cfg.SendCQ.(busyCQ); ok {
		cfg.SendCQ, cfg.RecvCQ = b.CQ, b.CQ
	}
	return d.Domain.NewUD(cfg)
}

// While a reply QP is full, requests stay in their slots: none is served whose reply would have to be dropped.
func TestRequestsWaitForRoom(t *testing.T) {
	const calls = 2 * busyDepth
	for name, expect := range map[string]func(core, stage int, hash uint64){"plain": nil, "pipeline": func(int, int, uint64) {}} {
		t.Run(name, func(t *testing.T) {
			eachFabric(t, func(t *testing.T, r *rig) {
				dev := &busy{Device: r.NewDevice()}
				var served atomic.Int64
				s, err := herd.NewServer(herd.ServerConfig{
					Devices: []fabric.Device{dev}, Expect: expect,
					Serve: func(c *rpc.Call, msg, out []byte) ([]byte, error) {
						served.Add(1)
						return r.Mux.Serve(c, msg, out)
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = s.Close() })
				if r.Addr, err = s.Listen(dev, r.Listen, fabric.ListenConfig{}); err != nil {
					t.Fatal(err)
				}
				c := r.dial(herd.ConnConfig{Window: calls, RetryAfter: time.Millisecond})
				l := c.CoreConn(0)
				for range calls {
					if err := send(l, c, request(procEcho, []byte("x"))); err != nil {
						t.Fatal(err)
					}
				}
				await(t, "the client to ask again", func() bool {
					c.Poll()
					return s.Stats().Wakeups > 2
				})
				if n := served.Load(); n > busyDepth {
					t.Errorf("%d requests were served, and there is room for %d replies", n, busyDepth)
				}
				dev.open.Store(true)
				for range calls {
					for !l.Ready() {
						if !c.Wait(patience) || c.Err() != nil {
							t.Fatal("no result", c.Err())
						}
					}
					if _, err, _ := l.Next(); err != nil {
						t.Fatal(err)
					}
				}
				if n := served.Load(); n != calls {
					t.Errorf("%d of %d requests were served", n, calls)
				}
			})
		})
	}
}

// lines is a log in memory.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
