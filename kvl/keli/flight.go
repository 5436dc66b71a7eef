package keli

import (
	"context"

	"github.com/remora-kv/remora/kvl"
)

// flight is records that are on their way to a session: at most its window, taken in the
// order in which they were asked for. It asks again for what was lost, late or spoilt.
type flight struct {
	s     *Session
	ring  []wanted
	errs  []error // why a record of the ring cannot be read
	first int
	count int
	tries tries
	rec   record // taken last
}

// wanted is a record on its way.
type wanted struct {
	link  kvl.Link
	chunk bool // of a list, not an item
}

// record is what has arrived: an item or a chunk. It is valid until the next call of a
// method of the flight.
type record struct {
	chunk bool
	item  kvl.Item
	links kvl.Chunk
}

func (f *flight) init(s *Session, window int) {
	f.s, f.ring, f.errs = s, make([]wanted, window), make([]error, window)
}

// begin is called before the first record is asked for.
func (f *flight) begin() { f.first, f.count, f.tries = 0, 0, tries{} }

// full reports whether a record has to be taken before another is asked for.
func (f *flight) full() bool { return f.count == len(f.ring) }

// hungry reports whether there is room for so many records that they make a chain worth
// posting.
func (f *flight) hungry() bool { return f.count <= len(f.ring)/2 }

// ask asks for a record. What is wrong with that, next tells.
func (f *flight) ask(w wanted) {
	i := f.first + f.count
	if i >= len(f.ring) {
		i -= len(f.ring)
	}
	f.ring[i] = w
	f.count++
	f.start(i)
}

// start READs a record into the slot of its place, or starts to load it where it is.
func (f *flight) start(i int) {
	s := f.s
	from, err := s.view.find(f.ring[i].link)
	if err == nil {
		s.stats.Reads++
		slot := &s.reader.slots[i]
		if err = s.reader.look(slot, from, f.ring[i].link.Len()); slot.view != nil {
			slot.expect()
		}
	}
	f.errs[i] = err
}

// next waits for the oldest record and takes it. It looks at its context once in a window:
// where no READ has to be waited for, nobody else does.
func (f *flight) next(ctx context.Context) (*record, error) {
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
			f.tries = tries{}
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

// oldest waits for the oldest record, and has it in f.rec.
func (f *flight) oldest(ctx context.Context) (err error) {
	s, w := f.s, &f.ring[f.first]
	v, r := s.view, s.reader
	if err := f.errs[f.first]; err != nil {
		return err
	}
	b, err := r.take(ctx, &r.slots[f.first])
	if err != nil {
		return err
	}
	now := r.landing
	if !v.lasts(now) {
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

// again READs everything again that was not taken.
func (f *flight) again(ctx context.Context) error {
	for {
		if err := f.s.ready(ctx); err != nil {
			return err
		}
		err := f.s.reader.settle(ctx)
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

// end is called at the end: nothing is on its way any more, and nobody's memory is used.
func (f *flight) end(ctx context.Context) {
	f.count = 0
	if r := f.s.reader; r != nil && r.settle(ctx) != nil {
		f.s.dropReader()
	}
}
