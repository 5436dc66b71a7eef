package verbs

import (
	"slices"
	"strings"
	"testing"

	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/fabric"
)

// testTable has lines enough that a wrong one is noticed, and no round number.
const testTable = 1000*line + 24

// searchAll makes all accesses of a search for key.
func searchAll(t *lookups, key uint64) uint64 {
	s := t.begin(nil, question{key: key})
	for s.left > 0 {
		t.step(&s)
	}
	return s.sum
}

// The client knows the answer without a table, and every line is used.
func TestASearchFindsWhatTheClientExpects(t *testing.T) {
	for _, size := range []int{line, testTable} {
		for _, steps := range []int{1, 2, 7} {
			table, err := newLookups(size, steps)
			if err != nil {
				t.Fatal(err)
			}
			for key := range uint64(1000) {
				if got, want := searchAll(table, key), answerOf(key, size, steps); got != want {
					t.Fatalf("%d steps for key %d in %d bytes: %#x, want %#x", steps, key, size, got, want)
				}
			}
			if err := table.close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	const lines = testTable / line
	var used [lines]int
	for key := range uint64(20 * lines) {
		used[lineOf(draw(key*0x9E37_79B9_7F4A_7C15), lines)]++
	}
	if least := slices.Min(used[:]); least == 0 {
		t.Error("some lines are never looked up")
	}
}

// askingCase is an echo whose server looks things up.
func askingCase(t *testing.T, test string, window, accesses int, prefetch bool) Case {
	t.Helper()
	return planOf(t, Config{
		Tests: []string{test}, Fabric: "loop", Sizes: []int{32}, Windows: []int{window},
		Accesses: []int{accesses}, Prefetch: []bool{prefetch}, Table: testTable,
	})[0]
}

// With and without prefetching every answer is right, whether the pipeline is
// longer than the window or not. On RC a request that is held back would stop the
// run: the last ones have none behind them, and with a window of 1 all are alone.
func TestPrefetchingChangesNoAnswer(t *testing.T) {
	for _, test := range []string{"echo-ws", "echo-ww"} {
		for _, window := range []int{1, 5, 32} {
			for _, accesses := range []int{1, 2, 8} {
				for _, prefetch := range []bool{true, false} {
					c := askingCase(t, test, window, accesses, prefetch)
					active, reacting := pairOf(t, c)
					reacting.start(t.Context(), passive())
					got, err := active.run(t.Context(), load.Budget{Ops: 500, Every: 1})
					if err != nil || got.Ops != 500 {
						t.Errorf("%s: %d calls, %v", c.Title(), got.Ops, err)
					}
					served, err := reacting.stop()
					if err != nil || served.Ops != 500 {
						t.Errorf("%s: %d replies, %v", c.Title(), served.Ops, err)
					}
				}
			}
		}
	}
}

// M6: the client notices a line that was not loaded.
func TestAWrongAnswerIsFound(t *testing.T) {
	for _, test := range []string{"echo-ws", "echo-ww"} {
		for _, window := range []int{1, 8} {
			active, reacting := pairOf(t, askingCase(t, test, window, 2, true))
			for i := range reacting.table.lines {
				reacting.table.mem[i*line] ^= 1
			}
			reacting.start(t.Context(), passive())
			_, err := active.run(t.Context(), load.Budget{Ops: 100, Every: 1})
			if err == nil || !strings.Contains(err.Error(), "the server looked up") {
				t.Errorf("%s window %d: wrong words gave %v", test, window, err)
			}
			if _, err := reacting.stop(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A request stays in the pipeline while others come, and leaves it by no-ops when
// none do.
func TestThePipelineHoldsAsManyAsASearchHasSteps(t *testing.T) {
	c := askingCase(t, "echo-ww", 8, 3, true)
	_, reacting := pairOf(t, c)
	s, ok := reacting.progs[0].(*responder)
	if !ok {
		t.Fatalf("the server runs %T", reacting.progs[0])
	}
	s.m = &load.Meter{}
	r := &s.lanes[0]
	for i, want := range []uint64{0, 0, 0, 1, 2} {
		r.asked.taken[i] = question{key: uint64(i), seq: uint64(i + 1)}
		if err := s.take(r, 1); err != nil || s.m.Ops != want {
			t.Errorf("after request %d: %d were answered, want %d; %v", i+1, s.m.Ops, want, err)
		}
	}
	looks := 0
	for ; !s.idle(); looks++ {
		if looks > 10*flushLooks {
			t.Fatal("the pipeline was never emptied")
		}
	}
	if s.err != nil || s.m.Ops != 5 || looks+1 != flushLooks {
		t.Errorf("after %d looks in vain %d of 5 were answered, %v", looks+1, s.m.Ops, s.err)
	}
	if s.idle() {
		t.Error("an empty pipeline was emptied")
	}
}

func TestPlanOfLookups(t *testing.T) {
	cases := planOf(t, Config{
		Tests: []string{"limit", "echo-ws"}, Accesses: []int{0, 2, 8}, Prefetch: []bool{true, false}, Windows: []int{8},
	})
	type key struct {
		test     string
		accesses int
		prefetch bool
		table    int
	}
	var got []key
	for _, c := range cases {
		got = append(got, key{c.Test, c.Accesses, c.Prefetch, c.Table})
	}
	want := []key{
		{"limit", 0, false, 0},
		{"echo-ws", 0, false, 0},
		{"echo-ws", 2, true, DefaultTable},
		{"echo-ws", 2, false, DefaultTable},
		{"echo-ws", 8, true, DefaultTable},
		{"echo-ws", 8, false, DefaultTable},
	}
	if !slices.Equal(got, want) {
		t.Errorf("planned %v, want %v", got, want)
	}
	if c := planOf(t, Config{Tests: []string{"echo-ww"}, Accesses: []int{1}})[0]; !c.Prefetch || c.Size != 2*wordSize {
		t.Errorf("unless told otherwise: %+v", c)
	}
	for _, c := range planOf(t, Config{Accesses: []int{2}}) {
		if want := c.Test == "echo-ws" || c.Test == "echo-ww"; (c.Accesses == 2) != want {
			t.Errorf("suite: %s with %d accesses", c.Test, c.Accesses)
		}
	}
}

// Over datagrams of their own, replies find their way; requests stay connected.
func TestPlanOfReplies(t *testing.T) {
	c := planOf(t, Config{Tests: []string{"echo-ws"}, Transport: "uc", ReplyTransport: "ud"})[0]
	if !c.mails() || c.Transport != fabric.UC || !c.lossy() {
		t.Errorf("echo-ws over uc, replies over ud: %+v", c)
	}
	if c := planOf(t, Config{Tests: []string{"echo-ws"}})[0]; c.mails() || c.lossy() {
		t.Errorf("echo-ws over rc: %+v", c)
	}
	for _, c := range planOf(t, Config{ReplyTransport: "ud"}) {
		if c.mails() != (c.Test == "echo-ws") {
			t.Errorf("suite: %s replies over %v", c.Test, c.ReplyTransport)
		}
	}
}
