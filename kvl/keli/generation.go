package keli

import (
	"errors"
	"sync/atomic"

	"github.com/remora-kv/remora/kvl"
)

// generation is an image as it is served.
type generation struct {
	image  *kvl.Image
	stands []*stand // by place
	// over is when its memory can be given back, by the server's clock; 0 while it is current.
	over int64
}

func (g *generation) number() uint64 { return g.image.Generation() }

// close gives the memory back. No board names it, and no core has it.
func (g *generation) close() error {
	var err error
	for _, st := range g.stands {
		err = errors.Join(err, st.close())
	}
	return errors.Join(err, g.image.Close())
}

// lineup is the generations that lookups are answered for, the current one first. It does
// not change; another takes its place.
type lineup []*generation

// find returns a generation by its number, 0 the current one; nil if it is not there.
func (l lineup) find(number uint64) *generation {
	for _, g := range l {
		if number == 0 || g.number() == number {
			return g
		}
	}
	return nil
}

// turnstile says whether a core is at a lineup (E5). It is odd while it is.
type turnstile struct {
	_      [64]byte
	passes atomic.Uint64
	_      [56]byte
}

// enter is called before the lineup is loaded, leave when nothing of it is used any more.
// One core alone calls them.
func (t *turnstile) enter() { t.passes.Add(1) }
func (t *turnstile) leave() { t.passes.Add(1) }

// passed reports whether the core has left, or was not there, since seen was read.
func (t *turnstile) passed(seen uint64) bool { return seen%2 == 0 || t.passes.Load() != seen }
