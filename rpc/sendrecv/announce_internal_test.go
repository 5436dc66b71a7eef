package sendrecv

import "testing"

// A request that came alone is not announced, also not where the session before its own
// went while it was due.
func TestAnnounceBesideTheGone(t *testing.T) {
	expected := 0
	c := &core{server: &Server{cfg: ServerConfig{Expect: func(_ int, msgs [][]byte) { expected = len(msgs) }}}}
	due := func(requests uint64, gone bool) *session {
		s := &session{size: dimensions{4, minMessage}, arrived: requests, gone: gone, due: true}
		s.lengths, s.mem = make([]int, s.size.receives()), make([]byte, s.size.bytes())
		c.due = append(c.due, s)
		return s
	}
	due(2, true)
	one := due(1, false)
	if c.announce(); one.known != 0 || expected != 0 {
		t.Errorf("%d announced, %d of it served as such", expected, one.known)
	}
	two := due(2, false)
	if c.announce(); one.known != 1 || two.told != 1 || two.known != 2 || expected != 3 {
		t.Errorf("%d announced; served as such: %d, and %d from %d", expected, one.known, two.known, two.told)
	}
}
