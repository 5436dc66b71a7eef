package storetest

import (
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/test/scale"
)

func TestOptionsFromEnvironment(t *testing.T) {
	t.Setenv(SeedVar, "0xfeed")
	plain := Options{Iterations: 1, Watchdog: time.Duration(scale.Times(1)) * DefaultWatchdog}
	want := plain
	want.Seed = 0xfeed
	if got := (Options{}).complete(t); got != want {
		t.Errorf("options from the environment: %+v", got)
	}
	given := Options{Iterations: 5, Seed: 7, Watchdog: time.Minute}
	if got := given.complete(t); got != given {
		t.Errorf("the environment made %+v out of %+v", got, given)
	}
	t.Setenv(SeedVar, "")
	if got := (Options{}).complete(t); got != plain {
		t.Errorf("options without an environment: %+v, want %+v", got, plain)
	}
}

func TestOptionsRejectWhatIsNoNumber(t *testing.T) {
	t.Setenv(SeedVar, "many")
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		Options{}.complete(r)
	}()
	<-done
	if !r.failed || !strings.Contains(r.log.String(), SeedVar+"=many") {
		t.Errorf("failed %v, %s", r.failed, r.log.String())
	}
}

// A case that fails prints the command that repeats it, and another seed makes
// other choices.
func TestRepeat(t *testing.T) {
	choices := func(opt Options) (chosen uint64, log string) {
		r := &recorder{TB: t}
		c := &testCase{name: "S0/fails/cache", run: func(t *trial) {
			chosen = t.random(0).Uint64()
			t.Fatalf("as it should")
		}}
		runCase(r, c, plainEngine, opt)
		return chosen, r.log.String()
	}
	t.Setenv(IterationsVar, "4")
	opt := Options{Seed: 0xabc}.complete(t)
	first, log := choices(opt)
	want := "REMORA_SEED=0xabc REMORA_ITERATIONS=4 go test "
	if !strings.Contains(log, want) || !strings.Contains(log, "-run '^TestRepeat$'") {
		t.Errorf("the failure does not print %q of this test: %s", want, log)
	}
	if again, _ := choices(opt); again != first {
		t.Error("the same seed made another choice")
	}
	opt.Seed++
	if other, _ := choices(opt); other == first {
		t.Error("another seed made the same choice")
	}
}
