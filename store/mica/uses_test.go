package mica

import (
	"testing"

	"github.com/remora-kv/remora/store"
)

// exported returns an Arena whose blocks clients, in this process, can read.
func exported(c *store.Config) {
	c.Arena = store.NewArena(func(_ string, size int, _ bool) ([]byte, any, func() error, error) {
		block, err := store.NewArena(nil).Alloc("source", size+pageSize)
		if err != nil {
			return nil, nil, nil, err
		}
		skip := -offsetOf(block.Bytes()) & (pageSize - 1)
		return block.Bytes()[skip : skip+size], nil, block.Free, nil
	})
}

// Items that readers use are spared like those that calls use, whether the table learns
// of the uses by hashes or by counts. Without either they are evicted.
func TestUsesByReaders(t *testing.T) {
	const hot, size = 100, 100
	for name, use := range map[string]func(r *rig, k store.Key){
		"nobody": func(*rig, store.Key) {},
		"hashes": func(r *rig, k store.Key) { r.Used([]uint64{k.Hash}) },
		"counts": func(r *rig, k store.Key) {
			f, err := NewFinder(r.Export().Layout)
			if err != nil {
				t.Fatal(err)
			}
			s := r.find(k.Hash, k.Bytes)
			if s.at == 0 {
				return
			}
			m := r.metaOf(s.at)
			link := store.Link{Span: store.Span{Off: int64(s.at), Len: r.sizeOf(m)}, Version: r.versionOf(s.at, m)}
			c, ok := f.(store.Follower)
			if !ok {
				t.Fatal("it follows no links")
			}
			c.Follow(k, link)
			span, ok := f.Touch()
			if !ok || span.Len != 1 || span.Area != 1 {
				t.Fatalf("%+v, %v", span, ok)
			}
			r.Export().Areas[1].Bytes()[span.Off]++
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, memory(256<<10), exported)
			key := func(i int) store.Key { return r.key(numbered(i, 16)) }
			for i := range 20_000 {
				if _, err := r.Put(key(i), store.Entry{Value: make([]byte, size)}, store.Always(), r.now); err != nil {
					t.Fatal(err)
				}
				if i >= hot {
					use(r, key(i%hot))
				} else if _, err := r.Get(key(i), r.now); err != nil {
					t.Fatal(err)
				}
			}
			left := 0
			for i := range hot {
				if _, err := r.Get(key(i), r.now); err == nil {
					left++
				}
			}
			if name == "nobody" && left != 0 || name != "nobody" && left < hot*9/10 {
				t.Errorf("%d of %d are left", left, hot)
			}
		})
	}
}

// Counts of uses are within the memory of the table (S4), and exist only if they have an effect.
func TestUsesTakeMemory(t *testing.T) {
	for _, c := range []struct {
		with  []func(*store.Config)
		areas int
	}{
		{[]func(*store.Config){memory(1 << 20)}, 1},
		{[]func(*store.Config){memory(1 << 20), exported}, 2},
		{[]func(*store.Config){memory(1 << 20), exported, fifo}, 1},
		{[]func(*store.Config){memory(1 << 20), exported, keeping}, 1},
		{[]func(*store.Config){memory(store.MinMemory), exported}, 2},
	} {
		r := newRig(t, c.with...)
		e := r.Export()
		total := tableBytes
		for _, a := range e.Areas {
			total += int64(a.Size())
		}
		if len(e.Areas) != c.areas || total > r.Stats().Memory || len(r.uses) != 0 && len(r.uses) <= (len(r.mem)-1)/usesOf {
			t.Errorf("%d areas, %d bytes of %d, %d counts for %d bytes", len(e.Areas), total, r.Stats().Memory, len(r.uses), len(r.mem))
		}
	}
}
