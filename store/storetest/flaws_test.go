package storetest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/remora-kv/remora/store"
)

// flaw is one way in which an engine can break the contract.
type flaw struct {
	name  string
	cases []string // the cases that must fail
	wrap  func(p store.Partition, cfg store.Config) store.Partition
	// config changes the configuration of the engine.
	config func(cfg *store.Config)
}

// engine returns the plain engine with the flaw.
func (f *flaw) engine() Engine {
	e := plainEngine
	e.New = func(cfg store.Config) (store.Partition, error) {
		given := cfg
		if f.config != nil {
			f.config(&cfg)
		}
		p, err := newPlain(cfg)
		if err != nil || f.wrap == nil {
			return p, err
		}
		return f.wrap(p, given), nil
	}
	return e
}

// wrapper passes all calls on. Flaws override some of them.
type wrapper struct{ store.Partition }

func (w wrapper) inner() store.Partition { return w.Partition }

// stale returns the value before the last one, once in a while.
type stale struct {
	wrapper
	old map[string]store.Item
	n   int
}

func (w *stale) Put(k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
	if item, err := w.Partition.Get(k, now); err == nil {
		item.Value = bytes.Clone(item.Value)
		w.old[string(k.Bytes)] = item
	}
	return w.Partition.Put(k, e, c, now)
}

func (w *stale) Get(k store.Key, now int64) (store.Item, error) {
	item, err := w.Partition.Get(k, now)
	if old, ok := w.old[string(k.Bytes)]; ok && err == nil {
		if w.n++; w.n%5 == 0 {
			item.Value = old.Value
		}
	}
	return item, err
}

// leader takes hints, and later returns what it saw then.
type leader struct {
	wrapper
	seen map[uint64]store.Item
}

func (w *leader) PrefetchIndex(uint64) {}

func (w *leader) PrefetchItems(hashes []uint64) {
	for _, hash := range hashes {
		delete(w.seen, hash)
	}
	w.Each(0, func(k store.Key, item store.Item) bool {
		if slices.Contains(hashes, k.Hash) {
			item.Value = bytes.Clone(item.Value)
			w.seen[k.Hash] = item
		}
		return true
	})
}

func (w *leader) Read(k store.Key, now int64, item *store.Item) error {
	got, err := w.Get(k, now)
	if old, ok := w.seen[k.Hash]; ok && err == nil {
		got = old
	}
	if err == nil {
		*item = got
	}
	return err
}

// eager writes an item before it knows whether one exists.
type eager struct{ wrapper }

func (w *eager) Read(k store.Key, now int64, item *store.Item) (err error) {
	*item, err = w.Get(k, now)
	return err
}

// putter changes Puts.
type putter struct {
	wrapper
	put func(p store.Partition, k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error)
}

func (w *putter) Put(k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
	return w.put(w.Partition, k, e, c, now)
}

func putting(put func(p store.Partition, k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error)) func(store.Partition, store.Config) store.Partition {
	return func(p store.Partition, _ store.Config) store.Partition { return &putter{wrapper{p}, put} }
}

// getter changes Gets.
type getter struct {
	wrapper
	get func(p store.Partition, k store.Key, now int64) (store.Item, error)
}

func (w *getter) Get(k store.Key, now int64) (store.Item, error) { return w.get(w.Partition, k, now) }

func getting(get func(p store.Partition, k store.Key, now int64) (store.Item, error)) func(store.Partition, store.Config) store.Partition {
	return func(p store.Partition, _ store.Config) store.Partition { return &getter{wrapper{p}, get} }
}

// toucher changes Touch and Delete.
type toucher struct {
	wrapper
	touch  func(p store.Partition, k store.Key, expires, now int64) error
	delete func(p store.Partition, k store.Key, c store.Condition, now int64) error
}

func (w *toucher) Touch(k store.Key, expires, now int64) error {
	if w.touch == nil {
		return w.Partition.Touch(k, expires, now)
	}
	return w.touch(w.Partition, k, expires, now)
}

func (w *toucher) Delete(k store.Key, c store.Condition, now int64) error {
	if w.delete == nil {
		return w.Partition.Delete(k, c, now)
	}
	return w.delete(w.Partition, k, c, now)
}

// teller changes the results of Stats, Check and Each.
type teller struct {
	wrapper
	stats func(st *store.Stats)
	check func(p store.Partition) error
	each  func(p store.Partition, now int64, visit func(store.Key, store.Item) bool)
}

func (w *teller) Stats() store.Stats {
	st := w.Partition.Stats()
	if w.stats != nil {
		w.stats(&st)
	}
	return st
}

func (w *teller) Check() error {
	if w.check != nil {
		return w.check(w.Partition)
	}
	return w.Partition.Check()
}

func (w *teller) Each(now int64, visit func(store.Key, store.Item) bool) {
	if w.each == nil {
		w.Partition.Each(now, visit)
		return
	}
	w.each(w.Partition, now, visit)
}

// sameHash treats all keys with one hash as the first of them.
type sameHash struct {
	wrapper
	first map[uint64][]byte
}

func (w *sameHash) key(k store.Key) store.Key {
	if w.first[k.Hash] == nil {
		w.first[k.Hash] = append([]byte{}, k.Bytes...)
	}
	k.Bytes = w.first[k.Hash]
	return k
}

func (w *sameHash) Get(k store.Key, now int64) (store.Item, error) {
	return w.Partition.Get(w.key(k), now)
}

func (w *sameHash) Put(k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
	return w.Partition.Put(w.key(k), e, c, now)
}

// aliasing keeps its arguments instead of copies.
type aliasing struct {
	wrapper
	values map[string][]byte
}

func (w *aliasing) Put(k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
	version, err := w.Partition.Put(k, e, c, now)
	if err == nil {
		w.values[string(k.Bytes)] = e.Value
	}
	return version, err
}

func (w *aliasing) Get(k store.Key, now int64) (store.Item, error) {
	item, err := w.Partition.Get(k, now)
	if err == nil {
		item.Value = w.values[string(k.Bytes)]
	}
	return item, err
}

// reusing returns one buffer for all views.
type reusing struct {
	wrapper
	buf [1 << 20]byte
}

func (w *reusing) Get(k store.Key, now int64) (store.Item, error) {
	item, err := w.Partition.Get(k, now)
	n := copy(w.buf[:], item.Value)
	item.Value = w.buf[:n]
	return item, err
}

// searching examines all keys that it ever saw with a hash.
type searching struct {
	wrapper
	seen map[uint64][][]byte
}

func (w *searching) Get(k store.Key, now int64) (store.Item, error) {
	low := k.Hash & 0xffffffff
	for _, key := range w.seen[low] {
		if bytes.Equal(key, k.Bytes) {
			return w.Partition.Get(k, now)
		}
	}
	w.seen[low] = append(w.seen[low], bytes.Clone(k.Bytes))
	return w.Partition.Get(k, now)
}

// disturbed is an engine that is slow while it works with some keys, as if other processes
// used the same caches.
type disturbed struct {
	wrapper
	from, to uint64
}

func (w *disturbed) Get(k store.Key, now int64) (store.Item, error) {
	if i := binary.BigEndian.Uint64(k.Bytes); i >= w.from && i < w.to {
		for start := cpuTime(); cpuTime()-start < 200*time.Microsecond; {
			continue // simulated work of others
		}
	}
	return w.Partition.Get(k, now)
}

// leaking keeps a block of the arena.
type leaking struct{ wrapper }

func isFailed(err error) bool { return err != nil && !errors.Is(err, store.ErrTooLarge) }

// everyNth returns a function that is true at each n-th call.
func everyNth(n int) func() bool {
	i := 0
	return func() bool { i++; return i%n == 0 }
}

func leak(p store.Partition, cfg store.Config) store.Partition {
	if _, err := cfg.Arena.Alloc("leak", 100); err != nil {
		panic(err)
	}
	return &leaking{wrapper{p}}
}

func hoard(p store.Partition, cfg store.Config) store.Partition {
	b, err := cfg.Arena.Alloc("hoard", int(cfg.Memory)+1)
	if err != nil {
		panic(err)
	}
	return &hoarding{wrapper{p}, b}
}

// hoarding allocates more from the arena than it may.
type hoarding struct {
	wrapper
	block store.Block
}

func (w *hoarding) Close() error { return errors.Join(w.block.Free(), w.Partition.Close()) }
