package herd_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/rpc/herd"
	"github.com/remora-kv/remora/test/scale"
)

// lossPlans are what UC and UD do on bad days, and worse.
var lossPlans = map[string]string{
	"1%":       "seed=1; uc.drop=1%; ud.drop=1%",
	"10%":      "seed=2; uc.drop=10%; ud.drop=10%",
	"bursts":   "seed=3; uc.drop=5%,burst=9; ud.drop=5%,burst=9",
	"copies":   "seed=4; ud.dup=20%,1ms; ud.drop=2%",
	"disorder": "seed=5; ud.reorder=20%,by=5,1ms; ud.drop=2%",
	"late":     "seed=6; ud.delay=5%,5ms; uc.delay=1%,3ms; ud.drop=1%",
	"spray":    "seed=7; uc.reorder=5%,by=3,4ms; uc.drop=2%; ud.dup=5%,3ms",
	"all":      "seed=8; uc.drop=5%,burst=3; ud.drop=5%; ud.dup=10%,2ms; ud.reorder=10%,by=3,3ms; uc.delay=1%,1ms",
}

// Every call takes effect once, in order, and its own reply is taken for it (H2, H3,
// H4), whatever is lost, doubled, late or in disorder.
func TestLoss(t *testing.T) {
	calls := scale.Times(300)
	if testing.Short() || scale.Race {
		calls = 100
	}
	for name, plan := range lossPlans {
		t.Run(name, func(t *testing.T) {
			eachFabric(t, func(t *testing.T, r *rig) {
				r.Plan = plan
				r.HandleCount()
				s := r.serve(herd.ServerConfig{Cores: 2})
				for which, window := range []int{1, 4, 16} {
					c := r.dial(herd.ConnConfig{Window: window, RetryAfter: time.Millisecond})
					for _, size := range []int{0, 900} {
						if err := countUp(c, uint32(2*which+size/900), calls, size); err != nil {
							t.Errorf("window %d, %d bytes more: %v; %+v; %+v", window, size, err, c.Stats(), s.Stats())
						}
					}
				}
				if st := s.Stats(); st.Calls != uint64(3*2*2*calls) || st.Failures != 0 || st.Cut+st.Lost != 0 {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}

// The same through a pipeline, whose requests have no reply for a while.
func TestLossWithPipeline(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.Plan = lossPlans["all"]
		r.HandleCount()
		r.serve(herd.ServerConfig{Expect: func(int, int, uint64) {}})
		c := r.dial(herd.ConnConfig{Window: 8, RetryAfter: time.Millisecond})
		if err := countUp(c, 1, 200, 0); err != nil {
			t.Errorf("%v; %+v", err, c.Stats())
		}
	})
}

// Without inline data, memory that is sent twice must not change meanwhile (H5).
func TestLossWithoutInline(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.Plan = lossPlans["spray"]
		r.HandleCount()
		r.serve(herd.ServerConfig{Inline: -1})
		c := r.dial(herd.ConnConfig{Window: 4, RetryAfter: time.Millisecond, NoInline: true})
		if err := countUp(c, 1, 200, 100); err != nil {
			t.Errorf("%v; %+v", err, c.Stats())
		}
	})
}

// A welcome that is lost is sent again, inline or not.
func TestWelcomeIsLost(t *testing.T) {
	for _, inline := range []int{0, -1} {
		eachFabric(t, func(t *testing.T, r *rig) {
			r.Plan = "seed=1; ud.drop@op=0..3"
			r.serve(herd.ServerConfig{Inline: inline})
			r.Plan = ""
			if got, err := call(r.dial(herd.ConnConfig{}), 0, procEcho, []byte("in")); err != nil || string(got) != "in" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// A server that cannot be heard ends the connection with an error that says so. While it
// can be, the client has minutes, by the clock of the machine; then hours pass by its own.
func TestGivingUp(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(herd.ServerConfig{})
		r.Plan = "seed=1"
		dev := &leaper{Device: r.NewDevice()}
		c := r.dial(herd.ConnConfig{Device: dev, RetryAfter: time.Second, GiveUp: patience})
		if _, err := call(c, 0, procEcho, []byte("x")); err != nil {
			t.Fatal(err)
		}
		r.Wraps[0].Cut()
		before := c.Stats().Retries
		if err := send(c.CoreConn(0), c, request(procEcho, []byte("x"))); err != nil {
			t.Fatal(err)
		}
		await(t, "the end", func() bool {
			dev.leapt.Add(int64(time.Hour))
			c.Poll()
			return c.Err() != nil
		})
		if err := c.Err(); !errors.Is(err, herd.ErrNoAnswer) || !strings.Contains(err.Error(), "asked") {
			t.Errorf("%v", err)
		}
		if err := c.CoreConn(0).Send(1, request(procEcho, nil)); !errors.Is(err, herd.ErrNoAnswer) {
			t.Errorf("after it: %v", err)
		}
		if c.Stats().Retries == before {
			t.Error("it was not tried again")
		}
	})
}

// A reply that comes when its call was answered otherwise is passed over, and counted.
func TestUnexpectedDatagrams(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.Plan = "seed=1; ud.dup=100%"
		r.HandleCount()
		r.serve(herd.ServerConfig{})
		c := r.dial(herd.ConnConfig{Window: 3})
		if err := countUp(c, 1, 100, 0); err != nil {
			t.Fatal(err)
		}
		if c.Stats().Unexpected == 0 {
			t.Error("no copy was seen")
		}
	})
}
