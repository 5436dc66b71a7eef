package sharedlru

import (
	"bytes"
	"container/list"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/cachetest"
)

// seed keys the hashes of tests.
const seed store.Seed = 7

// open makes a table that is checked and closed at the end of the test.
func open(t testing.TB, mode store.Mode, memory int64, handles int) *Table {
	t.Helper()
	a := store.NewArena(nil)
	table, err := New(store.Config{Arena: a, Memory: memory, Mode: mode, Seed: seed}, handles)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := table.Handle(0).Check(); err != nil {
			t.Error(err)
		}
		for i := range handles {
			if err := table.Handle(i).Close(); err != nil {
				t.Error(err)
			}
		}
		if left := a.Usage(); len(left) != 0 {
			t.Errorf("the last handle left %+v", left)
		}
	})
	return table
}

// key returns key number i.
func key(i int) store.Key { return seed.Key(binary.BigEndian.AppendUint64(nil, uint64(i))) }

// All handles see the changes of each, and views that they returned before do not change.
func TestHandlesShareItems(t *testing.T) {
	table := open(t, store.Cache, 1<<20, 3)
	a, b, c := table.Handle(0), table.Handle(1), table.Handle(2)
	long := bytes.Repeat([]byte("first "), 100)
	version, err := a.Put(key(1), store.Entry{Value: long}, store.Always(), 0)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := b.Get(key(1), 0)
	if err != nil || !bytes.Equal(seen.Value, long) || seen.Version != version {
		t.Fatalf("%+v, %v", seen, err)
	}
	if _, err := c.Put(key(1), store.Entry{Value: bytes.Repeat([]byte("second"), 100)}, store.IfVersion(version), 0); err != nil {
		t.Fatal(err)
	}
	if err := a.Delete(key(1), store.Always(), 0); err != nil {
		t.Fatal(err)
	}
	for i := range 3000 { // reuses all freed chunks
		if _, err := a.Put(key(100+i), store.Entry{Value: long}, store.Always(), 0); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(seen.Value, long) {
		t.Error("a view of one handle was changed by others")
	}
	if _, err := b.Get(key(1), 0); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get of an item that another handle has deleted: %v", err)
	}
}

// Sums over the handles are those of the table, and Each visits every item once.
func TestSharesAddUp(t *testing.T) {
	const handles, memory = 3, 1<<20 + 1
	table := open(t, store.Cache, memory, handles)
	for i := range 10_000 {
		if _, err := table.Handle(i%handles).Put(key(i), store.Entry{Value: make([]byte, i%300)}, store.Always(), 0); err != nil {
			t.Fatal(err)
		}
	}
	var sum store.Stats
	visits := map[string]int{}
	for i := range handles {
		h := table.Handle(i)
		st := h.Stats()
		if st.Items == 0 || st.Evicted == 0 || st.Puts == 0 {
			t.Errorf("handle %d has a share of %+v", i, st)
		}
		sum.Items += st.Items
		sum.Memory += st.Memory
		sum.IndexBytes += st.IndexBytes
		sum.ItemBytes += st.ItemBytes
		sum.Puts += st.Puts
		sum.Evicted += st.Evicted
		h.Each(0, func(k store.Key, _ store.Item) bool {
			if store.PartitionOf(k.Hash, handles) != i {
				t.Errorf("handle %d visits a key of another", i)
			}
			visits[string(k.Bytes)]++
			return true
		})
	}
	if sum.Memory != memory || sum.IndexBytes+sum.ItemBytes > memory || sum.Puts != 10_000 || sum.Items+int64(sum.Evicted) != 10_000 {
		t.Errorf("all handles together: %+v", sum)
	}
	if int64(len(visits)) != sum.Items {
		t.Errorf("%d items were visited, there are %d", len(visits), sum.Items)
	}
	for k, n := range visits {
		if n != 1 {
			t.Errorf("%x was visited %d times", k, n)
		}
	}
}

// A cache evicts the least recently used item, whichever handle used it: compared
// with a list, for items of all lengths.
func TestOrderIsStrict(t *testing.T) {
	const handles = 2
	table := open(t, store.Cache, 256<<10, handles)
	order, items := list.New(), map[int]*list.Element{}
	free := int(table.chunks.free)
	random := rand.New(rand.NewPCG(1, 2))
	sizes := map[int]int{}
	for range 30_000 {
		h, n := table.Handle(random.IntN(handles)), random.IntN(2000)
		if _, err := h.Get(key(n), 0); (err == nil) != (items[n] != nil) {
			t.Fatalf("Get of key %d: %v, the list has it: %v", n, err, items[n] != nil)
		}
		if e := items[n]; e != nil {
			order.MoveToFront(e)
			continue
		}
		size := random.IntN(1 << random.IntN(13))
		if _, err := h.Put(key(n), store.Entry{Value: make([]byte, size)}, store.Always(), 0); err != nil {
			t.Fatal(err)
		}
		sizes[n] = int(chunksFor(8 + size))
		for free -= sizes[n]; free < 0; {
			last, _ := order.Remove(order.Back()).(int)
			free += sizes[last]
			delete(items, last)
		}
		items[n] = order.PushFront(n)
	}
	var evicted uint64
	for i := range handles {
		evicted += table.Handle(i).Stats().Evicted
	}
	if evicted == 0 {
		t.Error("nothing was evicted")
	}
}

// handleCache is a handle as a cachetest.Cache.
type handleCache struct{ *Handle }

// Do implements cachetest.Cache.
func (h handleCache) Do(_ context.Context, c *cachetest.Call) (o cachetest.Outcome) {
	k := seed.Key([]byte(c.Key))
	var err error
	switch c.Kind {
	case cachetest.Get:
		var item store.Item
		item, err = h.Get(k, 0)
		o.Value, o.Version = string(item.Value), item.Version
	case cachetest.Delete:
		err = h.Delete(k, store.Always(), 0)
	case cachetest.DeleteVersion:
		err = h.Delete(k, store.IfVersion(c.Version), 0)
	case cachetest.Touch:
		err = h.Touch(k, 0, 0)
	case cachetest.Incr:
		o.Sum, err = h.incr(k, c.Delta)
	case cachetest.Set, cachetest.Add, cachetest.Replace, cachetest.CAS:
		cond := map[cachetest.Kind]store.Condition{
			cachetest.Set: store.Always(), cachetest.Add: store.IfAbsent(), cachetest.Replace: store.IfPresent(), cachetest.CAS: store.IfVersion(c.Version),
		}[c.Kind]
		o.Version, err = h.Put(k, store.Entry{Value: []byte(c.Value)}, cond, 0)
	}
	for status, sentinel := range map[cachetest.Status]error{
		cachetest.NotFound: store.ErrNotFound, cachetest.Exists: store.ErrExists,
		cachetest.Changed: store.ErrVersion, cachetest.NotNumber: store.ErrNotNumber,
	} {
		if errors.Is(err, sentinel) {
			return cachetest.Outcome{Status: status}
		}
	}
	if err != nil {
		return cachetest.Outcome{Status: cachetest.Failed, Text: err.Error()}
	}
	return o
}

// incr adds by compare and swap, until it succeeds.
func (h handleCache) incr(k store.Key, delta int64) (int64, error) {
	for {
		item, err := h.Get(k, 0)
		if err != nil {
			return 0, err
		}
		n, err := strconv.ParseInt(string(item.Value), 10, 64)
		if err != nil {
			return 0, store.ErrNotNumber
		}
		_, err = h.Put(k, store.Entry{Value: strconv.AppendInt(nil, n+delta, 10)}, store.IfVersion(item.Version), 0)
		if !errors.Is(err, store.ErrVersion) {
			return n + delta, err
		}
		if _, err := h.Get(k, 0); err != nil {
			return 0, err
		}
	}
}

// Concurrent calls of handles on the same keys are linearizable.
func TestHistory(t *testing.T) {
	const handles = 4
	table := open(t, store.Store, 1<<20, handles)
	s := rand.Uint64()
	t.Logf("seed %d", s)
	var history cachetest.History
	var wg sync.WaitGroup
	for i := range handles {
		source := cachetest.NewSource(s, i, cachetest.Keys(5))
		wg.Go(func() {
			cachetest.Work(t.Context(), handleCache{table.Handle(i)}, &history, source, 1000)
		})
	}
	wg.Wait()
	cachetest.Linearizable(t, history.Operations())
	if history.Count(cachetest.Failed) != 0 {
		t.Error("operations failed")
	}
}

// Concurrent handles of a full cache read only whole values that were put under
// their key.
func TestHammer(t *testing.T) {
	const handles, keys = 4, 300
	for _, mode := range []store.Mode{store.Cache, store.Store} {
		table := open(t, mode, 256<<10, handles)
		var wg sync.WaitGroup
		for i := range handles {
			wg.Go(func() { hammer(t, table.Handle(i), uint64(i), keys) })
		}
		wg.Wait()
	}
}

func hammer(t *testing.T, h *Handle, who uint64, keys int) {
	random := rand.New(rand.NewPCG(3, who))
	for now := range int64(4000) {
		n := random.IntN(keys)
		k := key(n)
		switch random.IntN(10) {
		case 0:
			_ = h.Delete(k, store.Always(), now)
		case 1:
			_ = h.Touch(k, now+random.Int64N(100), now)
		case 2:
			if now%500 == 0 {
				h.Each(now, func(k store.Key, item store.Item) bool {
					checkValue(t, int(binary.BigEndian.Uint64(k.Bytes)), item.Value)
					return true
				})
			}
		case 3, 4, 5:
			v := bytes.Repeat([]byte{byte(n), byte(random.IntN(256))}, 1+random.IntN(1000))
			if _, err := h.Put(k, store.Entry{Value: v}, store.Always(), now); err != nil && !errors.Is(err, store.ErrFull) {
				t.Error(err)
				return
			}
		default:
			if item, err := h.Get(k, now); err == nil {
				checkValue(t, n, item.Value)
			}
		}
	}
}

// checkValue checks that a value is one of a single Put of the key.
func checkValue(t *testing.T, n int, value []byte) {
	if len(value) < 2 || value[0] != byte(n) || !bytes.Equal(value[2:], value[:len(value)-2]) {
		t.Errorf("key %d: a value of %d bytes that nobody put", n, len(value))
	}
}

func TestNewFaults(t *testing.T) {
	for what, c := range map[string]struct {
		memory  int64
		handles int
	}{
		"0 handles":         {1 << 20, 0},
		"2 handles":         {2*store.MinMemory - 1, 2},
		"at least 65536":    {store.MinMemory, 2},
		"most 274877906944": {1 << 39, 1},
		"memory of 65535 ":  {store.MinMemory - 1, 1},
	} {
		if _, err := New(store.Config{Memory: c.memory}, c.handles); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%d bytes, %d handles: %v", c.memory, c.handles, err)
		}
	}
}

// Closing a handle twice panics, and does not affect the others.
func TestCloseTwice(t *testing.T) {
	table, err := New(store.Config{Memory: 1 << 20}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Handle(0).Close(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "twice") {
			t.Errorf("recovered %v", p)
		}
		if _, err := table.Handle(1).Put(key(1), store.Entry{}, store.Always(), 0); err != nil {
			t.Error(err)
		}
		if err := table.Handle(1).Close(); err != nil {
			t.Error(err)
		}
	}()
	_ = table.Handle(0).Close()
}

// The longest item has the documented share of the memory.
func TestLongestItem(t *testing.T) {
	for _, handles := range []int{1, 4} {
		const memory = 1 << 20
		table := open(t, store.Cache, memory, handles)
		longest := memory/(2*handles+2) - 8
		h := table.Handle(handles - 1)
		if _, err := h.Put(key(1), store.Entry{Value: make([]byte, longest+1)}, store.Always(), 0); !errors.Is(err, store.ErrFull) {
			t.Errorf("%d handles, a value of %d bytes: %v", handles, longest+1, err)
		}
		if _, err := h.Put(key(1), store.Entry{Value: make([]byte, longest)}, store.Always(), 0); err != nil {
			t.Errorf("%d handles, a value of %d bytes: %v", handles, longest, err)
		}
		if item, err := table.Handle(0).Get(key(1), 0); err != nil || len(item.Value) != longest {
			t.Errorf("%d bytes, %v", len(item.Value), err)
		}
	}
}
