package rfp

import "testing"

// wait polls every gap nanoseconds until the wait is over, and returns how long that took and
// how often the clock was read.
func (t *timer) wait(now *int64, gap int64) (took, polls, readings int64) {
	for began := *now; ; *now += gap {
		if t.left == 0 {
			return *now - began, polls, readings
		}
		polls++
		if t.skips() {
			continue
		}
		readings++
		*now += clockCost
		if t.over(*now) {
			return *now - began, polls, readings
		}
	}
}

func TestTimer(t *testing.T) {
	for _, gap := range []int64{5, 13, 100, 4_000} {
		var tm timer
		var now int64
		for _, d := range []int64{100, 300, 1_000, 6_500, 100_000} {
			for i := range 20 {
				tm.set(d)
				took, polls, readings := tm.wait(&now, gap)
				if i > 10 && (took < d-clockCost || took > d+2*clockCost+2*gap) {
					t.Errorf("polls every %d ns: a wait of %d ns took %d", gap, d, took)
				}
				if i > 10 && readings > 4+polls/8 && gap < clockCost {
					t.Errorf("polls every %d ns: a wait of %d ns took %d readings with %d polls", gap, d, readings, polls)
				}
			}
		}
	}
}

// A client that begins to poll only now and then is late once.
func TestTimerOfRarePolls(t *testing.T) {
	var tm timer
	var now int64
	for range 100 {
		tm.set(1_000)
		tm.wait(&now, 13)
	}
	for i := range 10 {
		tm.set(1_000)
		if _, polls, _ := tm.wait(&now, 1_000_000); polls > maxSkip+2 || i > 0 && polls > 2 {
			t.Errorf("wait %d took %d polls a millisecond apart", i, polls)
		}
	}
}

func TestShortWaitIsNone(t *testing.T) {
	var tm timer
	if tm.set(clockCost); tm.left != 0 || tm.skips() || tm.passed() != 0 {
		t.Errorf("%+v", tm)
	}
}

func TestTimerEstimatesWhatPassed(t *testing.T) {
	var tm timer
	var now int64
	for range 100 {
		tm.set(1_000)
		tm.wait(&now, 13)
	}
	tm.set(100_000)
	began := now
	for range 1_000 {
		if now += 13; !tm.skips() {
			now += clockCost
			tm.over(now)
		}
	}
	if got, want := tm.passed(), now-began; got < want*9/10 || got > want*11/10 {
		t.Errorf("%d ns have passed, estimated %d", want, got)
	}
}
