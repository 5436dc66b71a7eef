package tune

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Reading is what a micro-benchmark found at one size.
type Reading struct {
	Size int
	// Reads is how many READs of Size bytes a second the server's side bears.
	Reads float64
	// ReadTime is what one READ takes alone.
	ReadTime time.Duration
	// Replies is how many WRITEs of Size bytes a second the server can post; 0
	// when it was not measured at this size.
	Replies float64
}

// flat is what counts as no difference: a tenth, as in RF-RPC.
const flat = 0.9

// NewProfile makes a profile from readings at two sizes or more.
//
// A READ that fails and one that brings a result are the same to the hardware, so
// I(R,F) is the rate of READs at F divided by R. L is the largest size at which
// the rate is not yet lower, H the smallest at which the bandwidth is not higher
// any more, and N the first R at which fetching gains no more than a tenth over
// replying, which is the 5 of the paper for the numbers of the paper.
//
// Larger operations are never faster. Where readings say so, something else was
// running: noise only makes slower, so the smaller one is taken to be as fast as
// the larger. Noisy says whether that was much.
func NewProfile(fabric string, readings []Reading) (*Profile, error) {
	rs := slices.Clone(readings)
	slices.SortFunc(rs, func(a, b Reading) int { return a.Size - b.Size })
	if err := checkReadings(rs); err != nil {
		return nil, fmt.Errorf("tune: no profile from these readings: %w", err)
	}
	fillReplies(rs)
	settle(rs)
	lo, hi := bounds(rs)
	p := &Profile{Fabric: fabric, L: rs[lo].Size, H: rs[hi].Size, N: crossover(&rs[lo])}
	for _, r := range rs[lo : hi+1] {
		q := Point{F: r.Size, ReadTime: r.ReadTime, Reply: r.Replies}
		for n := range p.N {
			q.Rates = append(q.Rates, r.Reads/float64(n+1))
		}
		p.Points = append(p.Points, q)
	}
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("tune: no profile from these readings: %w", err)
	}
	return p, nil
}

// Noisy returns the size of a reading that is less than half as good as one of a
// larger size, 0 if there is none: the machine was busy.
func Noisy(readings []Reading) int {
	for i, r := range readings {
		for _, larger := range readings[i+1:] {
			if larger.Size > r.Size && (larger.Reads > 2*r.Reads || 2*larger.ReadTime < r.ReadTime) {
				return r.Size
			}
		}
	}
	return 0
}

func checkReadings(rs []Reading) error {
	if len(rs) < 2 {
		return fmt.Errorf("%d readings, need at least 2", len(rs))
	}
	var errs []error
	replies := 0
	for i, r := range rs {
		if r.Size < MinFetch || r.Size > MaxFetch || (i > 0 && r.Size == rs[i-1].Size) {
			errs = append(errs, fmt.Errorf("size %d is repeated or not in %d to %d", r.Size, MinFetch, MaxFetch))
		}
		if !sane(r.Reads) || r.ReadTime <= 0 || (r.Replies != 0 && !sane(r.Replies)) {
			errs = append(errs, fmt.Errorf("at %d bytes: %v READs/s, %v a READ, %v replies/s", r.Size, r.Reads, r.ReadTime, r.Replies))
		}
		if r.Replies != 0 {
			replies++
		}
	}
	if replies == 0 {
		errs = append(errs, errors.New("no rate of replies at any size"))
	}
	return errors.Join(errs...)
}

// fillReplies interpolates replies where they were not measured.
func fillReplies(rs []Reading) {
	var known []Point
	for _, r := range rs {
		if r.Replies != 0 {
			known = append(known, Point{F: r.Size, Reply: r.Replies})
		}
	}
	p := Profile{Points: known}
	for i := range rs {
		if rs[i].Replies == 0 {
			rs[i].Replies = p.Reply(rs[i].Size)
		}
	}
}

// settle takes noise out: what a larger operation reaches, a smaller one does.
func settle(rs []Reading) {
	for i := len(rs) - 2; i >= 0; i-- {
		r, larger := &rs[i], &rs[i+1]
		r.Reads = max(r.Reads, larger.Reads)
		r.Replies = max(r.Replies, larger.Replies)
		r.ReadTime = min(r.ReadTime, larger.ReadTime)
	}
}

// bounds are the indices of L and H.
func bounds(rs []Reading) (lo, hi int) {
	top, widest := rs[0].Reads, 0.0
	for _, r := range rs {
		widest = max(widest, r.Reads*float64(r.Size))
	}
	for lo+1 < len(rs) && rs[lo+1].Reads >= flat*top {
		lo++
	}
	for hi = lo; hi+1 < len(rs) && rs[hi].Reads*float64(rs[hi].Size) < flat*widest; {
		hi++
	}
	return lo, hi
}

// crossover is N at one size.
func crossover(r *Reading) int {
	n := 1
	for n < MaxRetries && r.Reads/float64(n) > (2-flat)*r.Replies {
		n++
	}
	return n
}
