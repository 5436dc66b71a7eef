package path

import (
	"time"

	"github.com/remora-kv/remora/internal/command"
)

// serverTime is what a reader knows about the server's clock, which decides whether an item that was
// read has expired: the time in the welcome, and how far both clocks can have drifted apart since.
// Before that may be more than maxMargin, the reader asks the server, and takes the time from the answer
// to a link request (command.Place).
type serverTime struct {
	// The server's clock showed now (in milliseconds) when ours showed since, or later.
	now, since int64
	// asked is when the time was found to be wanted, or 0. No request was in flight then, so an answer
	// that is taken later was given later.
	asked int64
}

const (
	// driftShift bounds how far clocks drift apart: by less than one part in 1<<driftShift.
	driftShift = 12
	// maxMargin is how much later than its estimate the server's clock may be. It is reached after 7
	// minutes.
	maxMargin = 100 * time.Millisecond
)

// left returns how many milliseconds an item with this expiry lives at least, 0 or less if it may have
// expired; our clock shows now.
func (s *serverTime) left(expires, now int64) int64 {
	passed := now - s.since
	margin := passed >> driftShift
	if margin > int64(maxMargin) {
		s.asked = now
		return 0
	}
	latest := s.now + (passed+margin)/int64(time.Millisecond) + 1
	if latest >= expires {
		return 0
	}
	return expires - latest + 1
}

// wanted reports whether the next answer should bring the time.
func (s *serverTime) wanted() bool { return s.asked != 0 }

// learn takes the time from an answer. Of the times with its lowest bits it takes that which is closest
// to the estimate.
func (s *serverTime) learn(at command.Place) {
	if s.asked == 0 || at == (command.Place{}) {
		return
	}
	estimate := s.now + (s.asked-s.since)/int64(time.Millisecond)
	s.now, s.since, s.asked = estimate+int64(int32(at.Clock-uint32(estimate))), s.asked, 0
}
