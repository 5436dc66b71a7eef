package keli

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/kvl"
)

// snapshot is what a client knows of a generation. Any goroutine may use it; only its lease
// changes.
type snapshot struct {
	generation uint64
	instance   uint64
	areas      []area
	schema     *kvl.Schema
	lease      int64
	until      atomic.Int64 // when the lease ends (E2)
	replaced   atomic.Bool  // the superblock named another generation
}

func newSnapshot(b *superblock, d *directory) (*snapshot, error) {
	schema, err := kvl.ParseSchema(d.schema)
	if err != nil {
		return nil, err
	}
	return &snapshot{generation: b.generation, instance: b.instance, areas: d.areas, schema: schema, lease: int64(b.lease)}, nil
}

// extend extends the lease after a READ of the superblock, posted at t0, found this generation.
func (v *snapshot) extend(t0 int64) {
	for until := t0 + v.lease; ; {
		was := v.until.Load()
		if was >= until || v.until.CompareAndSwap(was, until) {
			return
		}
	}
}

// valid reports whether bytes that have arrived by now may be used.
func (v *snapshot) valid(now int64) bool { return now < v.until.Load() }

// renewable reports whether it is time to renew the lease (E3).
func (v *snapshot) renewable(now int64) bool {
	return now >= v.until.Load()-v.lease/2 && !v.replaced.Load()
}

// find returns where the record behind a link is (E7).
func (v *snapshot) find(l kvl.Link) (fabric.Remote, error) {
	if !l.Of(v.generation) {
		return fabric.Remote{}, v.mismatch(l)
	}
	if n := l.Area(); n < len(v.areas) && v.areas[n].has(l.Offset(), l.Len()) {
		r := v.areas[n].remote
		r.Addr += uint64(l.Offset())
		return r, nil
	}
	return fabric.Remote{}, fmt.Errorf("keli: link %v is outside of the %d areas of the image: %w", l, len(v.areas), kvl.ErrCorrupt)
}

// mismatch returns the error of a link of another generation, or of one that leads nowhere.
func (v *snapshot) mismatch(l kvl.Link) error {
	if l.IsZero() {
		return fmt.Errorf("%w: the link leads nowhere", ErrNotFound)
	}
	return &GenerationError{Link: l.Stamp(), Session: v.generation}
}

// expired returns the error of a snapshot whose lease has ended and cannot be renewed.
func (v *snapshot) expired() error {
	return fmt.Errorf("%w: %d", ErrGenerationOver, v.generation)
}

// snapshots are shared by the sessions of a client.
type snapshots struct {
	mu  sync.Mutex
	all []*snapshot // the newest last
}

// of returns the snapshot of a generation of one start of the server, or nil.
func (vs *snapshots) of(instance, generation uint64) *snapshot {
	return vs.find(func(v *snapshot) bool { return v.generation == generation && v.instance == instance })
}

// ofLink returns the newest snapshot that a link can belong to, or nil.
func (vs *snapshots) ofLink(l kvl.Link) *snapshot {
	return vs.find(func(v *snapshot) bool { return l.Of(v.generation) })
}

func (vs *snapshots) find(is func(v *snapshot) bool) *snapshot {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	for _, v := range slices.Backward(vs.all) {
		if is(v) {
			return v
		}
	}
	return nil
}

// add adds a snapshot unless there is one of the same generation, and returns the one to use. It
// drops snapshots whose lease ended more than a lease ago: until then their links and names may be
// in use.
func (vs *snapshots) add(v *snapshot, now int64) *snapshot {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	for _, w := range vs.all {
		if w.generation == v.generation && w.instance == v.instance {
			return w
		}
	}
	vs.all = slices.DeleteFunc(vs.all, func(w *snapshot) bool { return !w.valid(now - w.lease) })
	vs.all = append(vs.all, v)
	return v
}
