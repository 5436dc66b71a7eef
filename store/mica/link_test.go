package mica_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/mica"
)

// follow follows a link in the memory of a table as it is now.
func follow(t testing.TB, p *mica.Table, f store.Follower, k store.Key, l store.Link) (store.Item, store.Outcome) {
	t.Helper()
	want := f.Follow(k, l)
	mem := p.Export().Areas[want.Area].Bytes()
	if want.Off < 0 || want.Off%8 != 0 || want.Off+int64(want.Len) > int64(len(mem)) {
		t.Fatalf("%+v is not in the table", want)
	}
	_, o := f.Look(bytes.Clone(mem[want.Off : want.Off+int64(want.Len)]))
	if o != store.Found {
		return store.Item{}, o
	}
	return f.Item(), o
}

// Whatever happens to items, a link leads to its item in its present state, or to
// nothing (M10). Tables are small, so that memory is reused all the time.
func TestLinksNeverLie(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  store.Config
	}{
		{"second chance", store.Config{}},
		{"FIFO", store.Config{Eviction: store.FIFO}},
		{"store", store.Config{Mode: store.Store}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(20) {
				cfg := c.cfg
				cfg.Memory, cfg.Seed = store.MinMemory, store.Seed(seed)
				testLinks(t, cfg, seed)
			}
		})
	}
}

func testLinks(t *testing.T, cfg store.Config, seed uint64) {
	t.Helper()
	p, err := mica.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	found, err := mica.NewFinder(p.Export().Layout)
	if err != nil {
		t.Fatal(err)
	}
	f, ok := found.(store.Follower)
	if !ok {
		t.Fatal("it follows no links")
	}
	rnd := rand.New(rand.NewPCG(seed, 7))
	links := map[int]store.Link{}
	const keys = 900
	key := func(i int) store.Key { return cfg.Seed.Key(fmt.Appendf(nil, "key %d", i)) }
	hits, now := 0, int64(1000)
	for range 20_000 {
		i := rnd.IntN(keys)
		k := key(i)
		switch what := rnd.IntN(20); {
		case what < 8:
			value := binary.LittleEndian.AppendUint64(make([]byte, rnd.IntN(200)), rnd.Uint64())
			e := store.Entry{Value: value, Flags: uint32(rnd.IntN(2))}
			if rnd.IntN(4) == 0 {
				e.Expires = now + rnd.Int64N(100)
			}
			_, err = p.Put(k, e, store.Always(), now)
		case what < 10:
			err = p.Delete(k, store.Always(), now)
		case what < 11:
			err = p.Touch(k, now+rnd.Int64N(50), now)
		default:
			_, err = p.Get(k, now)
		}
		if l, ok := p.LinkOf(k); ok && err == nil {
			item, err := p.Get(k, now)
			if err != nil {
				continue // it was put expired
			}
			l.Sum = store.LinkSum(item.Value, item.Flags)
			links[i] = l
		}
		now += rnd.Int64N(2)
		i = rnd.IntN(keys)
		l, ok := links[i]
		if !ok {
			continue
		}
		item, o := follow(t, p, f, key(i), l)
		if o != store.Found {
			delete(links, i)
			continue
		}
		hits++
		if item.Expires != 0 && item.Expires <= now {
			continue
		}
		is, err := p.Get(key(i), now)
		if err != nil || is.Version != item.Version || is.Flags != item.Flags || is.Expires != item.Expires || !bytes.Equal(is.Value, item.Value) {
			t.Fatalf("seed %d: a link leads to %+v, but the item is %+v, %v", seed, item, is, err)
		}
	}
	if hits < 200 {
		t.Errorf("seed %d: only %d links led to their items", seed, hits)
	}
	if err := p.Check(); err != nil {
		t.Error(err)
	}
}

// LinkOf returns the link of the item that was read or put last, and of no other.
func TestLinkOf(t *testing.T) {
	p, err := mica.New(store.Config{Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	a, b := store.Seed(0).Key([]byte("a")), store.Seed(0).Key([]byte("b"))
	if l, ok := p.LinkOf(a); ok {
		t.Errorf("%+v before there is anything", l)
	}
	version, err := p.Put(a, store.Entry{Value: []byte("value")}, store.Always(), 0)
	if err != nil {
		t.Fatal(err)
	}
	l, ok := p.LinkOf(a)
	if !ok || l.Version != version {
		t.Errorf("%+v, %v after put", l, ok)
	}
	if l, ok := p.LinkOf(b); ok {
		t.Errorf("%+v of another key", l)
	}
	if err := p.Delete(a, store.Always(), 0); err != nil {
		t.Fatal(err)
	}
	if l, ok := p.LinkOf(a); ok {
		t.Errorf("%+v of an item that is gone", l)
	}
}

// FuzzLook checks that Look finds only items that match their checksum, in any bytes,
// and reads nothing outside of them.
func FuzzLook(f *testing.F) {
	p, err := mica.New(store.Config{Memory: 1 << 20})
	if err != nil {
		f.Fatal(err)
	}
	k := store.Seed(0).Key([]byte("key"))
	for i, e := range []store.Entry{{}, {Value: []byte("value")}, {Value: []byte("value"), Flags: 7, Expires: 8}} {
		if _, err := p.Put(k, e, store.Always(), 0); err != nil {
			f.Fatal(err)
		}
		l, _ := p.LinkOf(k)
		f.Add(bytes.Clone(p.Export().Areas[0].Bytes()[l.Span.Off:l.Span.Off+int64(l.Span.Len)]), uint64(i+1))
	}
	f.Add([]byte{}, uint64(0))
	f.Fuzz(func(t *testing.T, b []byte, version uint64) {
		found, _ := mica.NewFinder([]byte{0})
		c, ok := found.(store.Follower)
		if !ok {
			t.Fatal("it follows no links")
		}
		c.Follow(k, store.Link{Version: version})
		b = b[:len(b):len(b)]
		before := bytes.Clone(b)
		if _, o := c.Look(b); o == store.Found && (c.Item().Version != version || !bytes.Contains(before, c.Item().Value)) {
			t.Errorf("%+v in %x", c.Item(), before)
		}
	})
}
