package keli

import (
	"errors"
	"sync/atomic"

	"github.com/remora-kv/remora/kvl"
)

// generation is an image that is served.
type generation struct {
	image   *kvl.Image
	exports []*export // by device
	// reusable is when its memory can be given back, by the server's clock; 0 while it is current.
	reusable int64
}

func (g *generation) number() uint64 { return g.image.Generation() }

// close gives the memory back. No superblock names the generation, and no core uses it.
func (g *generation) close() error {
	var err error
	for _, st := range g.exports {
		err = errors.Join(err, st.close())
	}
	return errors.Join(err, g.image.Close())
}

// generations are those that lookups are answered for, the current one first. A list does not
// change once it is published; another replaces it.
type generations []*generation

// find returns a generation by its number, or the current one for 0. It returns nil if there is
// none.
func (l generations) find(number uint64) *generation {
	for _, g := range l {
		if number == 0 || g.number() == number {
			return g
		}
	}
	return nil
}

// coreEpoch says whether a core uses a list of generations (E5): the count is odd while it does.
type coreEpoch struct {
	_     [64]byte
	count atomic.Uint64
	_     [56]byte
}

// enter loads the list, and says before that the core uses it, until leave. Only the core itself
// calls them.
func (t *coreEpoch) enter(load func() *generations) *generations {
	t.count.Add(1)
	return load()
}

func (t *coreEpoch) leave() { t.count.Add(1) }

// quiet reports whether the core has used no list, or has left it, since seen was read.
func (t *coreEpoch) quiet(seen uint64) bool { return seen%2 == 0 || t.count.Load() != seen }

// epochsAfter replaces the list, and returns the epochs of the cores since: one that enters later
// loads the new list.
func epochsAfter(cores []coreEpoch, replace func()) []uint64 {
	replace()
	seen := make([]uint64, len(cores))
	for i := range cores {
		seen[i] = cores[i].count.Load()
	}
	return seen
}
