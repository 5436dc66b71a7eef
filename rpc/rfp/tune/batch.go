package tune

import (
	"fmt"
	"math"
	"time"
)

// MaxBatch is the largest batch size of RF-RPC.
const MaxBatch = 128

const (
	// An epoch has epochOver/alpha requests, within bounds.
	epochOver = 16
	minEpoch  = 64
	maxEpoch  = 1 << 16

	// firstWait and maxWait are epochs before a size that was lost is tried
	// again, at first and at most.
	firstWait = 8
	maxWait   = 64
)

// Batch finds the batch size: the largest at which at most the share alpha of the
// requests takes longer than a limit. See the package doc for how it keeps that
// promise while it searches. Where even single requests are too slow it stays at
// 1.
type Batch struct {
	limit  time.Duration
	alpha  float64
	max    int
	epoch  int // requests
	lost   int // more over the limit than this end an epoch
	size   int
	skip   int // requests to come that were sent with another size
	seen   int // requests in this epoch
	over   int // of them over the limit
	bad    int // smallest size that was lost; 0: none
	last   int // the size that was lost last
	wait   int // epochs until the next trial
	pause  int // what wait begins with
	rising bool
	credit float64 // the account
	most   float64 // its bounds are most and -most/2
}

// NewBatch begins with batches of start requests and goes up to most, which is
// at most MaxBatch. It panics when the limit is not positive, alpha not between 0
// and 1, or start not in [1, most].
func NewBatch(limit time.Duration, alpha float64, start, most int) *Batch {
	if limit <= 0 || !(alpha > 0 && alpha < 1) || most < 1 || most > MaxBatch || start < 1 || start > most {
		panic(fmt.Sprintf("tune: batch: limit %v must be more than 0, alpha %v in (0,1), most %d in [1,%d], start %d in [1,most]",
			limit, alpha, most, MaxBatch, start))
	}
	b := &Batch{limit: limit, alpha: alpha, max: most, size: start, pause: firstWait, wait: firstWait}
	b.epoch = min(max(int(math.Ceil(epochOver/alpha)), minEpoch), maxEpoch)
	b.lost = int(alpha*float64(b.epoch) + 1e-9) // 16, and not 15.999
	b.most = 2 * b.price(most)
	return b
}

// Size is how many requests to put into the next batch.
func (b *Batch) Size() int { return b.size }

// Observe records the latency of a request of a client that has one batch on its
// way at a time.
func (b *Batch) Observe(latency time.Duration) {
	of := b.size
	if b.skip > 0 {
		b.skip--
		of = 0
	}
	b.ObserveAt(latency, of)
}

// ObserveAt records the latency of a request that was sent when Size was size.
// A client with several batches in flight uses it, so that no size is blamed
// for requests of another; they only count for the account.
func (b *Batch) ObserveAt(latency time.Duration, size int) {
	slow := latency > b.limit
	b.book(slow)
	if size != b.size {
		return
	}
	b.seen++
	if slow {
		b.over++
	}
	if b.over > b.lost {
		b.fall()
	} else if b.seen >= b.epoch {
		b.judge()
	}
}

// book keeps the account.
func (b *Batch) book(slow bool) {
	b.credit += b.alpha
	if slow {
		b.credit--
	}
	b.credit = min(max(b.credit, -b.most/2), b.most)
}

// price is what a trial of a size costs at worst: an epoch that is lost, and what
// is in flight by then.
func (b *Batch) price(size int) float64 { return float64(b.lost + 1 + 2*size) }

// judge ends an epoch that was not lost.
func (b *Batch) judge() {
	share := float64(b.over) / float64(b.epoch)
	switch {
	case b.credit < 0 && share > b.alpha/2:
		b.fall() // good enough for an epoch, but not for paying back
		return
	case b.size == b.bad:
		b.bad = 0 // things have changed
	}
	b.seen, b.over = 0, 0
	if b.wait > 0 {
		b.wait--
	}
	if b.size == b.max {
		return
	}
	known := share < b.alpha/10 && b.size+1 != b.bad
	trial := share <= b.alpha/2 && b.wait == 0 && b.credit >= b.price(b.size+1)
	if known || trial {
		b.move(b.size+1, true)
	}
}

// fall ends an epoch with too many requests over the limit.
func (b *Batch) fall() {
	if near := b.size - b.last; b.rising && near >= -1 && near <= 1 {
		b.pause = min(2*b.pause, maxWait)
	} else {
		b.pause = firstWait
	}
	b.bad, b.last, b.wait = b.size, b.size, b.pause
	b.move(max(b.size-1, 1), false)
}

// move goes to a size and begins an epoch.
func (b *Batch) move(size int, rising bool) {
	if size != b.size {
		b.skip, b.rising = b.size, rising
	}
	b.size, b.seen, b.over = size, 0, 0
	if rising && b.wait == 0 {
		b.wait = b.pause
	}
}
