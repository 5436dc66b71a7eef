package verbs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/remora-kv/remora/bench/target/verbs"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/faults"
	"github.com/remora-kv/remora/fabric/provider"
)

// badNetwork opens devices that do what a plan says to their messages.
type badNetwork struct {
	*provider.Set
	plan *faults.Plan
}

func (n badNetwork) Open(name string) (fabric.Device, error) {
	d, err := n.Set.Open(name)
	if err != nil {
		return nil, err
	}
	return faults.Wrap(d, n.plan), nil
}

func badEnv(t *testing.T, plan string) verbs.Env {
	t.Helper()
	p, err := faults.ParsePlan(plan)
	if err != nil {
		t.Fatal(err)
	}
	return verbs.Env{Providers: badNetwork{provider.New(), p}}
}

// M7: what is lost is counted and made again, and what comes late, twice or out
// of order is not taken for something else.
func TestEchoesSurviveLoss(t *testing.T) {
	for _, tc := range []struct{ test, transport, plan string }{
		{"echo-ss", "ud", "seed=1; ud.drop=2%"},
		{"echo-ss", "ud", "seed=2; ud.dup=5%,1ms; ud.reorder=5%,by=3"},
		{"echo-ss", "uc", "seed=3; uc.send.drop=2%,burst=3"},
		{"echo-ws", "uc", "seed=4; uc.write.drop=2%; uc.send.drop=2%"},
		{"echo-ww", "uc", "seed=5; uc.write.drop=2%"},
		{"echo-ws", "uc/ud", "seed=9; uc.write.drop=2%; ud.drop=2%"},
		{"echo-ws", "rc/ud", "seed=10; ud.dup=5%,1ms; ud.reorder=5%,by=3"},
		{"echo-ws", "uc/ud+lookups", "seed=11; uc.write.drop=2%; ud.drop=2%"},
		{"echo-ww", "uc+lookups", "seed=12; uc.write.drop=2%"},
	} {
		for _, window := range []int{1, 4} {
			cfg := verbs.Config{Tests: []string{tc.test}, Fabric: "loop", Windows: []int{window}, Ops: 200}
			transports, lookups := strings.CutSuffix(tc.transport, "+lookups")
			cfg.Transport, cfg.ReplyTransport, _ = strings.Cut(transports, "/")
			if lookups {
				cfg.Accesses, cfg.Table = []int{2}, 1<<16
			}
			report, err := verbs.Run(t.Context(), cfg, badEnv(t, tc.plan))
			if err != nil {
				t.Errorf("%s over %q window %d: %v", tc.test, tc.plan, window, err)
				continue
			}
			if r := report.Rows[0]; r.Ops != 200 {
				t.Errorf("%s over %q window %d: %d calls, want 200", tc.test, tc.plan, window, r.Ops)
			}
		}
	}
}

func TestLostDatagramsAreCounted(t *testing.T) {
	cfg := verbs.Config{Tests: []string{"send"}, Fabric: "loop", Transport: "ud", Windows: []int{1, 8}, Ops: 1000}
	report, err := verbs.Run(t.Context(), cfg, badEnv(t, "seed=6; ud.drop=10%"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Rows {
		if r.Ops != 1000 || r.Lost < 50 {
			t.Errorf("window %d: %d sent, %d lost of about 100", r.Window, r.Ops, r.Lost)
		}
	}
}

func TestABrokenConnectionIsAnError(t *testing.T) {
	for _, test := range []string{"read", "send", "echo-ss", "echo-ww", "outbound"} {
		cfg := verbs.Config{Tests: []string{test}, Fabric: "loop", Windows: []int{4}, Ops: 1000}
		if _, err := verbs.Run(t.Context(), cfg, badEnv(t, "seed=7; rc.break=lost@op=300")); err == nil {
			t.Errorf("%s: a connection that broke gave no error", test)
		}
	}
}

func TestARefusedConnectionIsAnError(t *testing.T) {
	cfg := verbs.Config{Tests: []string{"read"}, Fabric: "loop", Ops: 1}
	if _, err := verbs.Run(t.Context(), cfg, badEnv(t, "seed=8; dial.refuse")); !errors.Is(err, fabric.ErrRefused) {
		t.Errorf("a refused connection gave %v", err)
	}
}
