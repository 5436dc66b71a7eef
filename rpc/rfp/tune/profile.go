package tune

import (
	"errors"
	"fmt"
	"math"
	"time"
)

const (
	// MaxFetch is the largest F. Longer results are better replied (RF-RPC,
	// section 4.1).
	MaxFetch = 8192
	// MinFetch is the smallest: the header of a frame, and of an entry.
	MinFetch = 16
	// MaxRetries is the largest N.
	MaxRetries = 64
)

// Profile is what is known of the hardware.
type Profile struct {
	// Fabric, Machine, Date and How say what was measured, where, when and in
	// which way. They are for people.
	Fabric, Machine, How string
	Date                 time.Time
	// L, H and N bound the search: F in [L,H], R in [1,N].
	L, H, N int
	// Points are the measured sizes, ascending, from L to H.
	Points []Point
}

// Point is what is known of one fetch size.
type Point struct {
	F int
	// ReadTime is what one READ of F bytes takes when nothing else is in flight.
	ReadTime time.Duration
	// Reply is how many replies of F bytes the server can send in a second.
	Reply float64
	// Rates is I(R,F), for R from 1 to N.
	Rates []float64
}

// Rate is I(R,F). Outside of the search it goes on as the terms say: like L below
// it, by bandwidth above H, and by READs above N.
func (p *Profile) Rate(r, f int) float64 {
	k := min(r, p.N)
	v := p.at(f, func(q *Point) float64 { return q.Rates[k-1] })
	if r > p.N {
		v *= float64(p.N) / float64(r)
	}
	return v
}

// ReadTime is the time of one READ of f bytes.
func (p *Profile) ReadTime(f int) time.Duration {
	// As a rate, which is interpolated by its inverse.
	perSecond := p.at(f, func(q *Point) float64 { return 1e9 / float64(q.ReadTime) })
	return time.Duration(math.Round(1e9 / perSecond))
}

// Reply is how many replies of n bytes the server can send in a second.
func (p *Profile) Reply(n int) float64 {
	return p.at(n, func(q *Point) float64 { return q.Reply })
}

// at interpolates a rate at size f by the time that it stands for.
func (p *Profile) at(f int, rate func(*Point) float64) float64 {
	first, last := &p.Points[0], &p.Points[len(p.Points)-1]
	if f <= first.F {
		return rate(first)
	}
	if f >= last.F {
		return rate(last) * float64(last.F) / float64(f)
	}
	lo, hi := 0, len(p.Points)-1
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; p.Points[mid].F <= f {
			lo = mid
		} else {
			hi = mid
		}
	}
	a, b := rate(&p.Points[lo]), rate(&p.Points[hi])
	if a == b || f == p.Points[lo].F {
		return a // to the bit (U2)
	}
	x := float64(f-p.Points[lo].F) / float64(p.Points[hi].F-p.Points[lo].F)
	return 1 / ((1-x)/a + x/b)
}

// validate returns all that is wrong with a profile, each by the name of its
// field in a file.
func (p *Profile) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if p.Fabric == "" {
		bad("fabric is empty")
	}
	if p.N < 1 || p.N > MaxRetries {
		bad("n is %d, must be 1 to %d", p.N, MaxRetries)
	}
	if p.L < MinFetch || p.L > MaxFetch {
		bad("l is %d, must be %d to %d", p.L, MinFetch, MaxFetch)
	}
	if p.H < p.L || p.H > MaxFetch {
		bad("h is %d, must be l (%d) to %d", p.H, p.L, MaxFetch)
	}
	if len(p.Points) == 0 {
		bad("table is empty")
		return errors.Join(errs...)
	}
	if f := p.Points[0].F; f != p.L {
		bad("table[0].f is %d, must be l (%d)", f, p.L)
	}
	if f := p.Points[len(p.Points)-1].F; f != p.H {
		bad("table[%d].f, the last, is %d, must be h (%d)", len(p.Points)-1, f, p.H)
	}
	for i := range p.Points {
		errs = append(errs, p.validatePoint(i))
	}
	return errors.Join(errs...)
}

func (p *Profile) validatePoint(i int) error {
	q := &p.Points[i]
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("table[%d].%w", i, fmt.Errorf(format, args...)))
	}
	if i > 0 && q.F <= p.Points[i-1].F {
		bad("f is %d, must be more than the one before, %d", q.F, p.Points[i-1].F)
	}
	if q.ReadTime <= 0 {
		bad("read_ns is %d, must be more than 0", q.ReadTime)
	}
	if !sane(q.Reply) {
		bad("reply_per_sec is %v, must be more than 0", q.Reply)
	}
	if len(q.Rates) != p.N {
		bad("per_sec has %d numbers, must have n (%d)", len(q.Rates), p.N)
	}
	for r, v := range q.Rates {
		if !sane(v) {
			bad("per_sec[%d], of R = %d, is %v, must be more than 0", r, r+1, v)
		}
	}
	return errors.Join(errs...)
}

// sane says whether a rate can be one.
func sane(v float64) bool { return v > 0 && v < 1e15 }
