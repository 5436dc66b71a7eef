package keli

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/kvl"
)

// view is what a client knows of a generation. All but its lease stays as it is, and any
// goroutine may use it.
type view struct {
	generation uint64
	instance   uint64
	areas      []area
	schema     *kvl.Schema
	lease      int64
	until      atomic.Int64 // when the lease ends (E2)
	replaced   atomic.Bool  // the board said another generation
}

func newView(b *board, d *directory) (*view, error) {
	schema, err := kvl.ParseSchema(d.schema)
	if err != nil {
		return nil, err
	}
	return &view{generation: b.generation, instance: b.instance, areas: d.areas, schema: schema, lease: int64(b.lease)}, nil
}

// seen notes that the board said this generation to a READ that was posted at t0.
func (v *view) seen(t0 int64) {
	for until := t0 + v.lease; ; {
		was := v.until.Load()
		if was >= until || v.until.CompareAndSwap(was, until) {
			return
		}
	}
}

// lasts reports whether bytes that have arrived by now may be used.
func (v *view) lasts(now int64) bool { return now < v.until.Load() }

// old reports whether it is time to renew the lease (E3).
func (v *view) old(now int64) bool { return now >= v.until.Load()-v.lease/2 && !v.replaced.Load() }

// find returns where the record behind a link is (E7).
func (v *view) find(l kvl.Link) (fabric.Remote, error) {
	if !l.Of(v.generation) {
		return fabric.Remote{}, v.foreign(l)
	}
	if n := l.Area(); n < len(v.areas) && v.areas[n].has(l.Offset(), l.Len()) {
		r := v.areas[n].remote
		r.Addr += uint64(l.Offset())
		return r, nil
	}
	return fabric.Remote{}, fmt.Errorf("keli: link %v leads out of the %d areas of the image: %w", l, len(v.areas), kvl.ErrCorrupt)
}

// foreign is the error of a link of another generation, or of one that leads nowhere.
func (v *view) foreign(l kvl.Link) error {
	if l.IsZero() {
		return fmt.Errorf("%w: the link leads nowhere", ErrNotFound)
	}
	return &GenerationError{Link: l.Stamp(), Session: v.generation}
}

// over is the error of a view whose lease has ended and that cannot be renewed.
func (v *view) over() error {
	return fmt.Errorf("%w: %d", ErrGenerationOver, v.generation)
}

// views are those that the sessions of a client share.
type views struct {
	mu  sync.Mutex
	all []*view // the newest last
}

// of returns the view of a generation of a start of the server, nil if there is none.
func (vs *views) of(instance, generation uint64) *view {
	return vs.find(func(v *view) bool { return v.generation == generation && v.instance == instance })
}

// behind returns the newest view that a link can be of, nil if there is none.
func (vs *views) behind(l kvl.Link) *view {
	return vs.find(func(v *view) bool { return l.Of(v.generation) })
}

func (vs *views) find(is func(v *view) bool) *view {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	for _, v := range slices.Backward(vs.all) {
		if is(v) {
			return v
		}
	}
	return nil
}

// add adds a view, unless there is one already, and forgets those whose lease was over a lease
// ago: their links and names may be in use until then.
func (vs *views) add(v *view, now int64) *view {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	for _, w := range vs.all {
		if w.generation == v.generation && w.instance == v.instance {
			return w
		}
	}
	vs.all = slices.DeleteFunc(vs.all, func(w *view) bool { return !w.lasts(now - w.lease) })
	vs.all = append(vs.all, v)
	return v
}
