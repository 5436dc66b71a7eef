package keli

import (
	"context"

	"github.com/remora-kv/remora/kvl"
)

// pipeline has the READs of a session in flight, at most its window. It returns records in the
// order of the requests, and READs again those that were lost, late or corrupt.
type pipeline struct {
	s     *Session
	ring  []wanted
	errs  []error // why a record of the ring cannot be read
	first int
	count int
	tries attempts
	rec   record // returned last
}

// wanted is a record that was requested.
type wanted struct {
	link  kvl.Link
	chunk bool // of a list, not an item
}

// record is an item or a chunk that has arrived. It is valid until the next call of a method of
// the pipeline.
type record struct {
	chunk bool
	item  kvl.Item
	links kvl.Chunk
}

func (f *pipeline) init(s *Session, window int) {
	f.s, f.ring, f.errs = s, make([]wanted, window), make([]error, window)
}

// begin is called before the first request.
func (f *pipeline) begin() { f.first, f.count, f.tries = 0, 0, attempts{} }

// full reports whether next has to be called before ask.
func (f *pipeline) full() bool { return f.count == len(f.ring) }

// halfEmpty reports whether there is room for enough requests to make a chain worth posting.
func (f *pipeline) halfEmpty() bool { return f.count <= len(f.ring)/2 }

// ask requests a record. If that fails, next returns the error.
func (f *pipeline) ask(w wanted) {
	i := f.first + f.count
	if i >= len(f.ring) {
		i -= len(f.ring)
	}
	f.ring[i] = w
	f.count++
	f.start(i)
}

// start READs a record into its slot, or prefetches it in place.
func (f *pipeline) start(i int) {
	s := f.s
	from, err := s.snapshot.find(f.ring[i].link)
	if err == nil {
		s.stats.Reads++
		slot := &s.reader.slots[i]
		if err = s.reader.fetch(slot, from, f.ring[i].link.Len()); slot.view != nil {
			slot.prefetch()
		}
	}
	f.errs[i] = err
}

// next waits for the oldest record and returns it. It checks the context once in a window, because
// nothing else does where no READ has to be waited for.
func (f *pipeline) next(ctx context.Context) (*record, error) {
	if f.first == 0 && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for {
		err := f.oldest(ctx)
		if err == nil {
			if f.first++; f.first == len(f.ring) {
				f.first = 0
			}
			f.count--
			f.tries = attempts{}
			return &f.rec, nil
		}
		if err = f.s.retry(ctx, &f.tries, err); err != nil {
			return nil, err
		}
		if err = f.again(ctx); err != nil {
			return nil, err
		}
	}
}

// oldest waits for the oldest record, and leaves it in f.rec.
func (f *pipeline) oldest(ctx context.Context) (err error) {
	s, w := f.s, &f.ring[f.first]
	v, r := s.snapshot, s.reader
	if err := f.errs[f.first]; err != nil {
		return err
	}
	b, err := r.take(ctx, &r.slots[f.first])
	if err != nil {
		return err
	}
	now := r.arrival
	if !v.valid(now) {
		return errLate
	}
	s.renew(now)
	if f.rec.chunk = w.chunk; w.chunk {
		f.rec.links, err = kvl.ParseChunk(b, w.link, v.generation)
	} else {
		f.rec.item, err = kvl.ParseItem(b, w.link, v.generation)
	}
	return err
}

// again READs all records again that next has not returned.
func (f *pipeline) again(ctx context.Context) error {
	for {
		if err := f.s.ready(ctx); err != nil {
			return err
		}
		err := f.s.reader.drain(ctx)
		if err == nil {
			break
		}
		if err := f.s.retry(ctx, &f.tries, err); err != nil {
			return err
		}
	}
	for n := range f.count {
		f.start((f.first + n) % len(f.ring))
	}
	return nil
}

// end is called at the end of an operation. When it returns, no READ is in flight.
func (f *pipeline) end(ctx context.Context) {
	f.count = 0
	if r := f.s.reader; r != nil && r.drain(ctx) != nil {
		f.s.dropReader()
	}
}
