package rfp

// timer waits for a duration while its owner polls. The wait begins with the first poll
// after set. Between two readings of the clock lie some polls, as many as fit the time left
// by the pace of earlier ones, but not more than maxSkip: so a client that begins to poll
// only now and then is late once, by that number of polls. A poll counts as a nanosecond at
// least, so that a wait ends even if the clock stands still.
type timer struct {
	left    int64 // of the wait, at the last reading; 0: it is over
	last    int64 // the last reading
	elapsed int64 // from the first reading to the last
	pace    int64 // time between polls: a moving mean
	skip    int32 // polls until the next reading
	polls   int32 // between the last reading and the next; 0: there was no reading
}

const (
	maxSkip = 16
	// clockCost is the cost of a reading, in nanoseconds. It is part of the wait, and a
	// shorter wait is none.
	clockCost = 40
)

// set begins a wait.
func (t *timer) set(d int64) {
	if d <= clockCost {
		d = 0
	}
	t.left, t.elapsed, t.skip, t.polls = d, 0, 0, 0
}

// skips counts a poll, and reports whether the wait goes on without a reading of the clock.
func (t *timer) skips() bool {
	if t.skip <= 0 {
		return false
	}
	t.skip--
	return true
}

// over reports whether the wait is over, as a reading of the clock says. It is called
// when left is not 0 and skips returns false.
func (t *timer) over(now int64) bool {
	if t.polls != 0 {
		d := max(now-t.last, int64(t.polls))
		t.pace += (d/int64(t.polls) - t.pace) / 4
		t.elapsed += d
		if t.left -= d; t.left <= clockCost/2 {
			t.left, t.last = 0, now
			t.skip = 0
			return true
		}
	}
	t.last = now
	t.skip = int32(min(max(t.left-clockCost, 0)/max(t.pace, 1), maxSkip))
	t.polls = t.skip + 1
	return false
}

// passed estimates the time since the wait began, without a reading of the clock.
func (t *timer) passed() int64 {
	if t.polls == 0 {
		return 0
	}
	return t.elapsed + int64(t.polls-t.skip)*t.pace
}
