package cache

import (
	"context"
	"errors"
	"fmt"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/store"
)

// fit finds the memory with which the server of a case keeps its share of the keys
// (Case.Cache), by trying: it starts the server with a memory, stores all keys and counts
// what has stayed. What an engine takes for an item and for its index is its own affair,
// and is not guessed here.
func (r *runner) fit(ctx context.Context, c *Case, place host.Placement) (int64, error) {
	room := c.room()
	if memory, ok := r.fitted[room]; ok {
		return memory, nil
	}
	want := max(int64(float64(c.Keys)*c.Cache/100), 1)
	least := store.MinMemory * int64(c.Cores)
	guess := max(least, c.dataset()*want/int64(c.Keys))
	best, err := search(want, least, guess, func(memory int64) (int64, error) {
		return r.stays(ctx, *c, place, memory)
	})
	if err != nil {
		return 0, fmt.Errorf("looking for the memory of %g %% of the keys: %w", c.Cache, err)
	}
	if off := best.miss(want); off > want/10 {
		return 0, fmt.Errorf("%w: --cache %g%% of --keys %d are %d items, but with %d bytes %s keeps %d, and no memory comes nearer: use more keys, or a larger share",
			bench.ErrUsage, c.Cache, c.Keys, want, best.memory, c.Engine, best.items)
	}
	r.fitted[room] = best.memory
	return best.memory, nil
}

// room is what decides how much memory a share of the keys takes.
func (k *Case) room() Case {
	r := Case{Fabric: k.Fabric, Engine: k.Engine, Keys: k.Keys, KeySize: k.KeySize, ValueSize: k.ValueSize, KeyDist: k.KeyDist, ValueDist: k.ValueDist, Cores: k.Cores, Cache: k.Cache}
	if k.Links != 0 {
		r.Links = 1
	}
	return r
}

// stays stores all keys in a server of its own, and returns how many of them stay.
func (r *runner) stays(ctx context.Context, c Case, place host.Placement, memory int64) (items int64, err error) {
	c.Memory, c.Processes, c.Goroutines, c.Clients, c.Window, c.Batch = memory, 0, 0, 1, 1, 1
	o := &ours{runner: r, c: &c, place: place}
	defer func() { err = errors.Join(err, o.close()) }()
	if err := o.open(ctx); err != nil {
		return 0, err
	}
	t := &trial{runner: r, c: &c, place: place, server: o}
	if err := t.load(ctx); err != nil {
		return 0, err
	}
	_, err = o.look(ctx)
	return o.held.items, err
}

// attempt is a memory, and how many items stay in it.
type attempt struct{ memory, items int64 }

// miss is by how many items an attempt is off.
func (a attempt) miss(want int64) int64 { return max(a.items-want, want-a.items) }

const (
	// mostAttempts bounds the search for a memory.
	mostAttempts = 16
	// nearEnough is which part of the items may be too many or too few.
	nearEnough = 200
	// fineEnough is a difference of memory that changes nothing: engines take pages.
	fineEnough = 4 << 10
)

// search looks for the memory, of at least so many bytes, in which so many items stay:
// more of them the larger it is. It returns the attempt that came nearest.
func search(want, least, guess int64, try func(memory int64) (int64, error)) (best attempt, err error) {
	below, above := attempt{}, attempt{}
	for range mostAttempts {
		items, err := try(guess)
		if err != nil {
			return best, err
		}
		a := attempt{guess, items}
		if best.memory == 0 || a.miss(want) < best.miss(want) {
			best = a
		}
		if a.miss(want) <= want/nearEnough || a.items > want && a.memory <= least {
			break
		}
		if a.items < want {
			below = a
		} else {
			above = a
		}
		if above.memory != 0 && above.memory-below.memory <= fineEnough {
			break
		}
		guess = max(least, next(below, above, want))
	}
	return best, nil
}

// next is the memory to try between two attempts, or beyond the only one.
func next(below, above attempt, want int64) int64 {
	if above.memory == 0 {
		return 2 * below.memory
	}
	span, part := above.items-below.items, want-below.items
	at := below.memory + int64(float64(above.memory-below.memory)*float64(part)/float64(max(span, 1)))
	// Never one of the two again: each attempt must bring something.
	margin := max((above.memory-below.memory)/16, 1)
	return min(max(at, below.memory+margin), above.memory-margin)
}
