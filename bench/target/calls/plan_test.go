package calls

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/rfp"
)

func TestPlanCombinesLists(t *testing.T) {
	c := Config{
		Paths: Paths(), Sizes: []int{8, 64}, Windows: []int{1, 2}, Batches: []int{1, 4},
		ProcessTimes: []time.Duration{0, time.Microsecond}, Connected: []int{0, 9},
	}
	if err := c.normalize(); err != nil {
		t.Fatal(err)
	}
	cases, err := c.plan(fabric.Limits{MaxDepth: 100})
	if err != nil || len(cases) != 3*2*2*2*2*2 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	first := cases[0]
	if first.Path != PathRFP || first.Size != 8 || first.ResultSize != 8 || first.Threads != 1 || first.Cores != 1 {
		t.Errorf("the first case is %+v", first)
	}
	if _, err := c.plan(fabric.Limits{MaxDepth: 20}); !errors.Is(err, bench.ErrUsage) || !strings.Contains(err.Error(), "--window 2") {
		t.Errorf("a window beyond the queue gave %v", err)
	}
}

// F is what brings the whole answer, unless it is given (C8).
func TestFetchSize(t *testing.T) {
	for want, c := range map[int]Config{
		8 + 36:   {},
		8 + 36*4: {Batches: []int{4}},
		8 + 2048: {Batches: []int{96}},
		8 + 1004: {ResultSize: 1000},
		777:      {FetchSize: 777},
		8 + 36*3: {Goroutines: 3},
	} {
		if err := c.normalize(); err != nil {
			t.Fatal(err)
		}
		cases, err := c.plan(fabric.Limits{MaxDepth: 100})
		if err != nil || cases[0].connConfig(nil).FetchSize != want {
			t.Errorf("F is %d, want %d (%v)", cases[0].FetchSize, want, err)
		}
	}
}

func TestPaths(t *testing.T) {
	for path, want := range map[string]rfp.Params{
		PathRFP: {}, PathFetch: {Pinned: true, Mode: rfp.Fetch}, PathReply: {Pinned: true, Mode: rfp.Reply},
	} {
		if got := params(path); got != want {
			t.Errorf("%s is %+v", path, got)
		}
	}
}

func TestStampsAreARing(t *testing.T) {
	s := stamps{ring: make([]stamp, 3)}
	next := uint64(0)
	for n := range uint64(20) {
		s.push(stamp{number: n})
		if n%5 == 4 {
			s.push(stamp{number: 99})
			s.drop()
		}
		if n%2 == 1 {
			for range 2 {
				first, ok := s.first()
				if !ok || first.number != next {
					t.Fatalf("%d comes first, want %d", first.number, next)
				}
				s.take()
				next++
			}
		}
	}
	if _, ok := s.first(); ok {
		t.Error("something is left")
	}
}

func TestChecker(t *testing.T) {
	k := checker{size: 16, want: 12}
	arg := make([]byte, 16)
	k.number(arg, 7)
	if err := k.result(arg[:12], 7); err != nil {
		t.Error(err)
	}
	if k.result(arg[:12], 8) == nil || k.result(arg[:11], 7) == nil {
		t.Error("a wrong result is right")
	}
	small := checker{size: 16, want: 2}
	if err := small.result(arg[:2], 3); err != nil {
		t.Error("a result too small for a number: ", err)
	}
}
