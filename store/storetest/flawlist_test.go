package storetest

import (
	"bytes"
	"errors"

	"github.com/remora-kv/remora/store"
)

// flaws are engines that break one rule each.
var flaws = []*flaw{
	{
		name:  "stale-value",
		cases: []string{"S1/overwrite/store", "S1/overwrite/cache", "S1/model/store", "S1/model/cache", "S5/scribble/store"},
		wrap: func(p store.Partition, _ store.Config) store.Partition {
			return &stale{wrapper: wrapper{p}, old: map[string]store.Item{}}
		},
	},
	{
		name:  "believes-hints",
		cases: []string{"prefetch/changes/store", "prefetch/changes/cache", "S1/model/store", "S1/model/cache"},
		wrap: func(p store.Partition, _ store.Config) store.Partition {
			return &leader{wrapper: wrapper{p}, seen: map[uint64]store.Item{}}
		},
	},
	{
		name:  "read-writes-errors",
		cases: []string{"S1/model/store", "S1/model/cache"},
		wrap:  func(p store.Partition, _ store.Config) store.Partition { return &eager{wrapper{p}} },
	},
	{
		name:  "put-lost",
		cases: []string{"S3/keeps/store", "S1/put-get/store", "S1/read-back/cache", "S1/model/store", "S1/model-long/cache", "stats/levels/store"},
		wrap: func() func(store.Partition, store.Config) store.Partition {
			lose := everyNth(30)
			return putting(func(p store.Partition, k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
				version, err := p.Put(k, e, c, now)
				if err == nil && lose() {
					_ = p.Delete(k, store.Always(), now)
				}
				return version, err
			})
		}(),
	},
	{
		name:  "version-reused",
		cases: []string{"S2/grow/store", "S2/grow/cache", "S1/model/cache"},
		wrap: putting(func(p store.Partition, k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
			version, err := p.Put(k, e, c, now)
			if q := plainOf(p); err == nil && version%4 == 0 {
				q.last--
			}
			return version, err
		}),
	},
	{
		name:  "delete-takes-version-back",
		cases: []string{"S2/grow/store", "S1/version-if/store", "S1/version-if/cache", "S1/delete/store"},
		wrap: func(p store.Partition, _ store.Config) store.Partition {
			return &toucher{wrapper: wrapper{p}, delete: func(p store.Partition, k store.Key, c store.Condition, now int64) error {
				_, item := plainOf(p).find(k, now)
				err := p.Delete(k, c, now)
				if err == nil {
					plainOf(p).last = item.Version - 1
				}
				return err
			}}
		},
	},
	{
		name:   "versions-from-1",
		cases:  []string{"S2/first/store", "S2/48-bits/cache"},
		config: func(cfg *store.Config) { cfg.FirstVersion = 0 },
	},
	{
		name:  "version-of-32-bits",
		cases: []string{"S2/48-bits/store", "S2/first/cache"},
		wrap: getting(func(p store.Partition, k store.Key, now int64) (store.Item, error) {
			item, err := p.Get(k, now)
			item.Version = uint64(uint32(item.Version))
			return item, err
		}),
	},
	{
		name:  "touch-makes-a-version",
		cases: []string{"S2/kept/store", "S1/touch/cache", "S1/model/store"},
		wrap: func(p store.Partition, _ store.Config) store.Partition {
			return &toucher{wrapper: wrapper{p}, touch: func(p store.Partition, k store.Key, expires, now int64) error {
				item, err := p.Get(k, now)
				if err == nil {
					_, err = p.Put(k, store.Entry{Value: item.Value, Flags: item.Flags, Expires: expires}, store.Always(), now)
				}
				return err
			}}
		},
	},
	{
		name:  "touch-does-nothing",
		cases: []string{"S1/touch/store", "S1/expiry-extremes/cache", "S6/clock-steps-back/store"},
		wrap: func(p store.Partition, _ store.Config) store.Partition {
			return &toucher{wrapper: wrapper{p}, touch: func(p store.Partition, k store.Key, _, now int64) error {
				if b, _ := plainOf(p).find(k, now); b == nil {
					return store.ErrNotFound
				}
				return nil
			}}
		},
	},
	{
		name:   "exceeds-memory",
		cases:  []string{"S4/mixed-operations/store", "S4/mixed-operations/cache", "S3/keeps/store", "S1/read-back/cache", "stats/new/store"},
		config: func(cfg *store.Config) { cfg.Memory += 20_000 },
		wrap: func(p store.Partition, cfg store.Config) store.Partition {
			return &teller{wrapper: wrapper{p}, stats: func(st *store.Stats) {
				if st.Items > 0 {
					st.Memory = cfg.Memory
				}
			}}
		},
	},
	{name: "exceeds-arena", cases: []string{"S4/arena/store", "S4/mixed-operations/cache"}, wrap: hoard},
	{name: "leaks", cases: []string{"S1/put-get/store", "S4/bad-config/cache", "S1/model/cache"}, wrap: leak},
	{
		name:  "ignores-expiry",
		cases: []string{"S1/expiry/store", "S1/expiry-every-call/cache", "S6/clock-stands-still/store", "S1/each-skips-expired/store"},
		wrap:  func(p store.Partition, _ store.Config) store.Partition { return &frozen{wrapper{p}} },
	},
	{
		name:  "expires-late",
		cases: []string{"S1/expiry/store", "S1/expiry/cache", "S1/put-if/store", "S6/clock-stands-still/cache"},
		wrap: getting(func(p store.Partition, k store.Key, now int64) (store.Item, error) {
			return p.Get(k, now-1)
		}),
	},
	{
		name:  "expired-exists",
		cases: []string{"S1/expiry-every-call/store", "S1/put-if/cache"},
		wrap: putting(func(p store.Partition, k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
			if c == store.IfAbsent() && plainOf(p).items[string(k.Bytes)] != nil {
				return 0, store.ErrExists
			}
			return p.Put(k, e, c, now)
		}),
	},
	{
		name:  "wrong-key-on-collision",
		cases: []string{"S8/flood/zero/store", "S8/flood/one-hash/cache", "S1/similar-keys/store", "S1/model-long/cache"},
		wrap: func(p store.Partition, _ store.Config) store.Partition {
			return &sameHash{wrapper{p}, map[uint64][]byte{}}
		},
	},
	{
		name:  "failed-put-destroys",
		cases: []string{"S3/failed-put/store", "S3/failed-put/cache", "S1/put-if/store", "S1/model/cache"},
		wrap: putting(func(p store.Partition, k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
			version, err := p.Put(k, e, c, now)
			if isFailed(err) {
				_ = p.Delete(k, store.Always(), now)
			}
			return version, err
		}),
	},
	{
		name:  "refused-put-destroys",
		cases: []string{"S3/failed-put/store", "S3/larger-than-memory/store", "S3/larger-than-memory/cache", "S3/full-overwrite/store"},
		wrap: putting(func(p store.Partition, k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
			version, err := p.Put(k, e, c, now)
			if b := plainOf(p).items[string(k.Bytes)]; errors.Is(err, store.ErrFull) && b != nil {
				plainOf(p).remove(b)
			}
			return version, err
		}),
	},
	{
		name:  "refused-put-evicts",
		cases: []string{"S3/larger-than-memory/cache", "S3/failed-put/cache"},
		wrap: putting(func(p store.Partition, k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
			version, err := p.Put(k, e, c, now)
			if q := plainOf(p); errors.Is(err, store.ErrFull) && q.order.Len() > 0 {
				q.stats.Evicted++
				q.remove(blobAt(q.order.Front()))
			}
			return version, err
		}),
	},
	{
		name:  "condition-not-looked-at",
		cases: []string{"S1/put-if/store", "S1/version-if/cache", "S3/failed-put/cache"},
		wrap: putting(func(p store.Partition, k store.Key, e store.Entry, _ store.Condition, now int64) (uint64, error) {
			return p.Put(k, e, store.Always(), now)
		}),
	},
	{
		name:  "delete-of-nothing",
		cases: []string{"S1/delete/store", "S1/expiry-every-call/store"},
		wrap: func(p store.Partition, _ store.Config) store.Partition {
			return &toucher{wrapper: wrapper{p}, delete: func(p store.Partition, k store.Key, c store.Condition, now int64) error {
				if err := p.Delete(k, c, now); !errors.Is(err, store.ErrNotFound) {
					return err
				}
				return nil
			}}
		},
	},
	{
		name:  "delete-forgets-conditions",
		cases: []string{"S1/delete-if/store", "S1/model/store"},
		wrap: func(p store.Partition, _ store.Config) store.Partition {
			return &toucher{wrapper: wrapper{p}, delete: func(p store.Partition, k store.Key, _ store.Condition, now int64) error {
				return p.Delete(k, store.Always(), now)
			}}
		},
	},
	{
		name:  "keeps-inputs",
		cases: []string{"S5/scribble/store", "S5/scribble/cache", "S1/put-get/cache"},
		wrap: func(p store.Partition, _ store.Config) store.Partition {
			return &aliasing{wrapper{p}, map[string][]byte{}}
		},
	},
	{
		name:  "frees-before-copying",
		cases: []string{"S5/alias-same-key/store", "S5/alias-same-key/cache", "S5/alias-when-full/store", "S1/model/store"},
		wrap: putting(func(p store.Partition, k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
			k.Bytes = bytes.Clone(k.Bytes)
			if b, item := plainOf(p).find(k, now); b != nil && c.Met(item.Version) == nil {
				clear(item.Value[len(item.Value)/2:])
			}
			return p.Put(k, e, c, now)
		}),
	},
	{
		name:  "evicts-before-copying",
		cases: []string{"S5/alias-when-full/cache", "S5/alias-large/cache"},
		wrap: putting(func(p store.Partition, k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
			// The victims' memory is overwritten before e.Value is read.
			q := plainOf(p)
			value, key := bytes.Clone(e.Value), bytes.Clone(k.Bytes)
			before := q.memory()
			version, err := p.Put(k, e, c, now)
			if len(q.memory()) <= len(before) && err == nil {
				for _, old := range before[:min(2, len(before))] {
					clear(old)
				}
				if b := q.items[string(key)]; b != nil && !bytes.Equal(e.Value, value) {
					_, item := b.item()
					clear(item.Value)
					b.seal()
				}
			}
			return version, err
		}),
	},
	{
		name:  "keys-read-late",
		cases: []string{"S5/alias-as-key/store", "S5/alias-when-full/cache"},
		wrap: putting(func(p store.Partition, k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
			q := plainOf(p)
			key := bytes.Clone(k.Bytes)
			for _, b := range q.items { // the key is overwritten where it is a view
				for i := range b.bytes {
					if len(key) > 0 && &b.bytes[i] == &k.Bytes[0] {
						if _, item := b.item(); c.Met(item.Version) == nil {
							return p.Put(store.Key{Hash: k.Hash, Bytes: make([]byte, len(key))}, e, c, now)
						}
					}
				}
			}
			return p.Put(k, e, c, now)
		}),
	},
	{
		name:  "one-buffer-for-views",
		cases: []string{"S5/view-stays/store", "S5/view-stays/cache"},
		wrap:  func(p store.Partition, _ store.Config) store.Partition { return &reusing{wrapper: wrapper{p}} },
	},
	{
		name:  "get-scribbles-on-expired",
		cases: []string{"S5/view-outlives-expiry/store", "S5/view-outlives-expiry/cache"},
		wrap: getting(func(p store.Partition, k store.Key, now int64) (store.Item, error) {
			q := plainOf(p)
			if b := q.items[string(k.Bytes)]; b != nil && b.expired(now) {
				q.stats.Expired++
				q.remove(b)
				clear(b.bytes)
			}
			return p.Get(k, now)
		}),
	},
	{
		name:  "value-cut",
		cases: []string{"S1/put-get/store", "S1/longest-value/store", "S1/longest-value/cache"},
		wrap: getting(func(p store.Partition, k store.Key, now int64) (store.Item, error) {
			item, err := p.Get(k, now)
			item.Value = item.Value[:min(len(item.Value), 4095)]
			return item, err
		}),
	},
	{
		name:  "key-cut",
		cases: []string{"S1/longest-key/store", "S1/longest-key/cache"},
		wrap: putting(func(p store.Partition, k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
			k.Bytes = k.Bytes[:min(len(k.Bytes), store.MaxKey)]
			return p.Put(k, e, c, now)
		}),
	},
	{
		name:  "empty-key-refused",
		cases: []string{"S1/empty/store", "S1/put-get/store", "S1/any-bytes/cache", "S1/model/store"},
		wrap: putting(func(p store.Partition, k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
			if len(k.Bytes) == 0 {
				return 0, store.ErrTooLarge
			}
			return p.Put(k, e, c, now)
		}),
	},
	{
		name:  "limit-one-too-high",
		cases: []string{"S1/longest-value/store", "S1/longest-value/cache"},
		config: func(cfg *store.Config) {
			if cfg.MaxValue > 0 && cfg.MaxValue < store.MaxValueLimit {
				cfg.MaxValue++
			}
		},
	},
	{
		name:  "check-asleep",
		cases: []string{"S7/item/store", "S7/item/cache", "S7/anywhere/store", "S7/anywhere/cache"},
		wrap: func(p store.Partition, _ store.Config) store.Partition {
			return &teller{wrapper: wrapper{p}, check: func(store.Partition) error { return nil }}
		},
	},
	{
		name:  "metadata-not-summed",
		cases: []string{"S7/item/store", "S7/anywhere/cache"},
		wrap: func(p store.Partition, _ store.Config) store.Partition {
			return &teller{wrapper: wrapper{p}, check: checkBodies}
		},
	},
	{
		name:  "check-cries-wolf",
		cases: []string{"S7/anywhere/store", "S1/put-get/cache"},
		wrap: func(p store.Partition, _ store.Config) store.Partition {
			return &teller{wrapper: wrapper{p}, check: func(p store.Partition) error {
				if p.Stats().Items > 3 {
					return store.ErrCorrupt
				}
				return nil
			}}
		},
	},
	{
		name:  "each-misses-one",
		cases: []string{"S1/each/store", "S1/each-skips-expired/cache", "S1/model/store"},
		wrap: func(p store.Partition, _ store.Config) store.Partition {
			return &teller{wrapper: wrapper{p}, each: func(p store.Partition, now int64, visit func(store.Key, store.Item) bool) {
				n := 0
				p.Each(now, func(k store.Key, item store.Item) bool { n++; return n == 3 || visit(k, item) })
			}}
		},
	},
	{
		name:  "each-does-not-stop",
		cases: []string{"S1/each-stops/store", "S1/each-stops/cache"},
		wrap: func(p store.Partition, _ store.Config) store.Partition {
			return &teller{wrapper: wrapper{p}, each: func(p store.Partition, now int64, visit func(store.Key, store.Item) bool) {
				p.Each(now, func(k store.Key, item store.Item) bool { visit(k, item); return true })
			}}
		},
	},
	{
		name:  "each-makes-up-hashes",
		cases: []string{"S1/each/store", "S1/put-get/cache"},
		wrap: func(p store.Partition, _ store.Config) store.Partition {
			return &teller{wrapper: wrapper{p}, each: func(p store.Partition, now int64, visit func(store.Key, store.Item) bool) {
				p.Each(now, func(k store.Key, item store.Item) bool { k.Hash++; return visit(k, item) })
			}}
		},
	},
	{
		name:  "items-miscounted",
		cases: []string{"stats/levels/store", "S1/put-get/cache"},
		wrap: func(p store.Partition, _ store.Config) store.Partition {
			return &teller{wrapper: wrapper{p}, stats: func(st *store.Stats) { st.Items -= st.Items / 10 }}
		},
	},
	{
		name:  "hits-miscounted",
		cases: []string{"S1/put-get/store", "S1/model/cache"},
		wrap: func(p store.Partition, _ store.Config) store.Partition {
			return &teller{wrapper: wrapper{p}, stats: func(st *store.Stats) { st.Hits = st.Gets }}
		},
	},
	{
		name:  "evictions-not-counted",
		cases: []string{"S1/read-back/cache", "S1/recent/cache", "S1/model-long/cache"},
		wrap: func(p store.Partition, _ store.Config) store.Partition {
			return &teller{wrapper: wrapper{p}, stats: func(st *store.Stats) { st.Evicted = 0 }}
		},
	},
	{
		name:   "store-evicts",
		cases:  []string{"S3/keeps/store", "S3/failed-put/store", "S3/refuses-at-fill/store"},
		config: func(cfg *store.Config) { cfg.Mode = store.Cache },
	},
	{
		name:   "cache-refuses",
		cases:  []string{"S1/read-back/cache", "S1/size-mix/cache", "S1/fill/cache"},
		config: func(cfg *store.Config) { cfg.Mode = store.Store },
	},
	{
		name:   "half-empty",
		cases:  []string{"S3/refuses-at-fill/store", "S1/fill/cache", "S3/keeps/store"},
		config: func(cfg *store.Config) { cfg.Memory = max(cfg.Memory*2/5, store.MinMemory) },
		wrap: func(p store.Partition, cfg store.Config) store.Partition {
			return &teller{wrapper: wrapper{p}, stats: func(st *store.Stats) { st.Memory = cfg.Memory }}
		},
	},
	{
		name:  "capacity-shrinks",
		cases: []string{"S3/fragmentation/store", "S3/emptied/store"},
		wrap: func(p store.Partition, cfg store.Config) store.Partition {
			return &shrinking{wrapper{p}}
		},
	},
	{
		name:  "expired-never-reclaimed",
		cases: []string{"S3/room-after-expiry/store"},
		wrap: putting(func(p store.Partition, k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
			return p.Put(k, e, c, 0)
		}),
	},
	{
		name:   "fifo",
		cases:  []string{"S1/second-chance/get/cache", "S1/second-chance/touch/cache"},
		config: func(cfg *store.Config) { cfg.Eviction = store.FIFO },
	},
	{
		name:   "never-fifo",
		cases:  []string{"S1/fifo/cache"},
		config: func(cfg *store.Config) { cfg.Eviction = store.SecondChance },
	},
	{
		name:  "touch-is-no-use",
		cases: []string{"S1/second-chance/touch/cache"},
		wrap: func(p store.Partition, _ store.Config) store.Partition {
			return &toucher{wrapper: wrapper{p}, touch: func(p store.Partition, k store.Key, expires, now int64) error {
				b, _ := plainOf(p).find(k, now)
				used := b != nil && b.used
				err := p.Touch(k, expires, now)
				if b != nil {
					b.used = used
				}
				return err
			}}
		},
	},
	{
		name:  "searches-all-collisions",
		cases: []string{"S8/bounded-work/store", "S8/bounded-work/cache"},
		wrap: func(p store.Partition, _ store.Config) store.Partition {
			return &searching{wrapper{p}, map[uint64][][]byte{}}
		},
	},
	{
		name:  "clock-never-back",
		cases: []string{"S6/clock-steps-back/store"},
		wrap:  func(p store.Partition, _ store.Config) store.Partition { return &sulking{wrapper: wrapper{p}} },
	},
}

// checkBodies compares keys only.
func checkBodies(p store.Partition) error {
	for name, b := range plainOf(p).items {
		if k, _ := b.item(); !bytes.Equal(k.Bytes, []byte(name)) {
			return store.ErrCorrupt
		}
	}
	return nil
}

// frozen has no clock: nothing expires.
type frozen struct{ wrapper }

const before = -1 << 63

func (w *frozen) Get(k store.Key, _ int64) (store.Item, error) { return w.Partition.Get(k, before) }

func (w *frozen) Put(k store.Key, e store.Entry, c store.Condition, _ int64) (uint64, error) {
	return w.Partition.Put(k, e, c, before)
}

func (w *frozen) Each(_ int64, visit func(store.Key, store.Item) bool) {
	w.Partition.Each(before, visit)
}

// sulking fails when the clock steps back: it uses the latest time that it has
// seen as now.
type sulking struct {
	wrapper
	latest int64
}

func (w *sulking) Get(k store.Key, now int64) (store.Item, error) {
	w.latest = max(w.latest, now)
	return w.Partition.Get(k, w.latest)
}

func (w *sulking) Put(k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
	w.latest = max(w.latest, now)
	return w.Partition.Put(k, e, c, w.latest)
}

// shrinking loses a little of its memory at each Delete.
type shrinking struct{ wrapper }

func (w *shrinking) Delete(k store.Key, c store.Condition, now int64) error {
	err := w.Partition.Delete(k, c, now)
	if q := plainOf(w.Partition); err == nil && q.cfg.Memory > store.MinMemory {
		q.stats.ItemBytes += 5
	}
	return err
}
