package cachetest

import "context"

// Pipe is a client with several operations in flight, for one goroutine.
type Pipe interface {
	// Start starts an operation. Next returns its outcome, though it could not be
	// started.
	Start(ctx context.Context, tag uint64, c *Call)
	// Next waits for the outcome of any of the operations that were started. There
	// must be one.
	Next(ctx context.Context) (tag uint64, o Outcome)
	// Pending returns how many outcomes Next has still to return.
	Pending() int
}

// WorkAhead is Work with up to depth operations in flight.
func WorkAhead(ctx context.Context, p Pipe, j Journal, s *Source, n, depth int) {
	type begun struct {
		number int
		call   Call
	}
	open := map[uint64]begun{}
	take := func() {
		tag, o := p.Next(ctx)
		b := open[tag]
		delete(open, tag)
		j.End(b.number, &o)
		s.Learn(&b.call, &o)
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		for p.Pending() >= depth {
			take()
		}
		c := s.Next()
		open[uint64(i)] = begun{j.Begin(s.client, &c), c}
		p.Start(ctx, uint64(i), &c)
	}
	for p.Pending() > 0 {
		take()
	}
}
