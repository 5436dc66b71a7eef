package figures

import (
	"slices"
	"strings"
	"testing"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/perf"
)

// Every figure has its series at every place of its axis, once.
func TestPlans(t *testing.T) {
	bytes := []float64{8, 16, 32, 64, 128, 256, 512, 1024}
	for i, want := range []struct {
		number int
		series []string
		places []float64
	}{
		{2, []string{"READ", "WRITE", "WRITE inline", "ECHO"}, bytes},
		{3, []string{"READ, RC", "WRITE, UC", "WRITE, RC", "SEND, UD"}, bytes},
		{4, []string{"READ, RC", "WRITE, RC", "WRITE, UC", "WRITE inline, UC", "SEND inline, UD"}, bytes},
		{5, []string{"basic", "+ unreliable", "+ unsignaled", "+ inline"}, []float64{0, 1, 2}},
		{6, []string{"in-bound WRITE, UC", "out-bound SEND, UD", "out-bound WRITE, UC"}, []float64{1, 2, 4, 8, 16}},
		{7, []string{"prefetch, 1 core", "no prefetch, 1 core"}, []float64{1, 2, 4, 6, 8}},
	} {
		f := Plan(2)[i]
		if f.Number != want.number || !slices.Equal(f.series(), want.series) || !slices.Equal(f.places(), want.places) {
			t.Errorf("figure %d: series %q at %v", f.Number, f.series(), f.places())
		}
		seen := map[string]bool{}
		for _, p := range f.Points {
			seen[p.Series+" at "+p.place()] = true
		}
		if len(f.Points) != len(want.series)*len(want.places) || len(seen) != len(f.Points) {
			t.Errorf("figure %d: %d points, %d of them different", f.Number, len(f.Points), len(seen))
		}
		if f.Title == "" || f.About == "" || f.Paper == "" || f.XLabel == "" {
			t.Errorf("figure %d is not explained", f.Number)
		}
	}
}

// Figure 7 has as many cores as the machine has CPUs for both sides.
func TestPrefetchUsesTheCores(t *testing.T) {
	for cpus, want := range map[int]int{0: 2, 1: 2, 2: 2, 4: 4, 7: 4, 8: 6} {
		f := Plan(cpus)[5]
		if got := len(f.series()); got != want {
			t.Errorf("%d CPUs: %d series, want %d", cpus, got, want)
		}
	}
	for _, p := range Plan(8)[5].Points {
		if p.Config.Windows[0] <= p.Config.Accesses[0] {
			t.Errorf("a window of %d never fills a pipeline of %d", p.Config.Windows[0], p.Config.Accesses[0])
		}
	}
}

// Figure 5 adds one optimisation after the other.
func TestEchoAddsOneAfterTheOther(t *testing.T) {
	var got []string
	for _, p := range Plan(2)[3].Points[8:] { // WRITE/SEND
		c := p.Config
		c.Fabric = "shm"
		got = append(got, strings.TrimPrefix(commandLine(&c, "32", "", 1), "remora bench verbs echo-ws --fabric shm --transport "))
	}
	for i, want := range []string{
		"rc --size 32 --window 16 --inline=false --unsignaled=false",
		"uc --reply-transport ud --size 32 --window 16 --inline=false --unsignaled=false",
		"uc --reply-transport ud --size 32 --window 16 --inline=false --unsignaled",
		"uc --reply-transport ud --size 32 --window 16 --inline --unsignaled",
	} {
		if !strings.HasPrefix(got[i], want+" ") {
			t.Errorf("step %d: %q, want %q", i, got[i], want)
		}
	}
}

func TestCommandsJoinWhatDiffersInOneList(t *testing.T) {
	c := Config{Fabric: "tcp", Only: []int{7}, Trials: 5, Table: 1 << 20}
	plan, err := c.plan()
	if err != nil {
		t.Fatal(err)
	}
	m := Measured{Figure: plan[0], Fabric: "tcp"}
	for _, p := range m.Points {
		m.Outcomes = append(m.Outcomes, Outcome{Point: p, Rows: []perf.Row{{Measure: bench.Measure{OpsPerSec: 1}}}})
	}
	m.Outcomes[0].Rows, m.Outcomes[0].Reason = nil, "cannot be" // 1 access, prefetched
	want := "remora bench verbs echo-ws --fabric tcp --transport uc --reply-transport ud --size 32 --window 32 --threads 1 " +
		"--accesses 1,2,4,6,8 --prefetch off --table 1MiB --duration 200ms --warmup 100ms --trials 5"
	got := m.Commands(5)
	if got[0] != want {
		t.Errorf("got  %s\nwant %s", got[0], want)
	}
	if !strings.Contains(got[1], "--accesses 2,4,6,8 --prefetch on") {
		t.Errorf("what cannot be measured is in %s", got[1])
	}
}

func TestMistakesComeTogether(t *testing.T) {
	c := Config{Only: []int{1, 8}, Duration: -1, Trials: -1}
	_, err := c.plan()
	for _, words := range []string{"--only 1: there are Figures 2 to 7", "--only 8", "--duration -1ns", "--trials -1"} {
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v does not say %q", err, words)
		}
	}
}
