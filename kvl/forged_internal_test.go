package kvl

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// forge returns a record with a right header and checksum and any body.
func forge(kind recordKind, count, keyLen int, body []byte) ([]byte, Link) {
	b := make([]byte, headerSize+pad8(len(body)))
	copy(b[headerSize:], body)
	putHeader(b, 3, kind, 1, count, keyLen)
	closeRecord(b)
	return b, NewLink(0, 0, len(b), 3)
}

// body returns the body of an item with the key "k", entries and payloads.
func body(entries []entry, payloads ...[]byte) []byte {
	b := []byte{'k', 0, 0, 0, 0, 0, 0, 0}
	for _, e := range entries {
		b = binary.LittleEndian.AppendUint64(b, uint64(e))
	}
	for _, p := range payloads {
		b = append(b, p...)
		b = append(b, make([]byte, pad8(len(p))-len(p))...)
	}
	return b
}

// listOf returns the payload of a list.
func listOf(total uint64, next Link, inline int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, total)
	b = append(b, make([]byte, LinkSize*(1+inline))...)
	next.Put(b[8:])
	return b
}

// K2: Parse notices inconsistent records even if the checksum is right.
func TestForgedItems(t *testing.T) {
	next := NewLink(0, 8, 40, 3)
	good := map[string]forged{
		"nothing":        forgedItem(nil),
		"empty bytes":    forgedItem([]entry{newEntry(1, KindBytes, 0)}),
		"bytes":          forgedItem([]entry{newEntry(1, KindBytes, 3)}, []byte("abc")),
		"a link":         forgedItem([]entry{newEntry(1, KindLink, 16)}, make([]byte, 16)),
		"an empty list":  forgedItem([]entry{newEntry(1, KindList, 24)}, listOf(0, Link{}, 0)),
		"a list":         forgedItem([]entry{newEntry(1, KindList, 40)}, listOf(1, Link{}, 1)),
		"a longer list":  forgedItem([]entry{newEntry(1, KindList, 40)}, listOf(2, next, 1)),
		"a kind unknown": forgedItem([]entry{newEntry(1, 77, 5), newEntry(2, KindBytes, 1)}, []byte("12345"), []byte("x")),
	}
	for name, b := range good {
		if _, err := b.parse(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	bad := map[string]forged{
		"more entries than bytes":   forgedItem([]entry{newEntry(1, KindBytes, 1<<32-1)}),
		"a payload behind the end":  forgedItem([]entry{newEntry(1, KindBytes, 9)}, make([]byte, 8)),
		"bytes behind the payloads": forgedItem([]entry{newEntry(1, KindBytes, 1)}, make([]byte, 16)),
		"a name twice":              forgedItem([]entry{newEntry(1, KindBytes, 0), newEntry(1, KindBytes, 0)}),
		"names that fall":           forgedItem([]entry{newEntry(2, KindBytes, 0), newEntry(1, KindBytes, 0)}),
		"a short link":              forgedItem([]entry{newEntry(1, KindLink, 8)}, make([]byte, 8)),
		"a long link":               forgedItem([]entry{newEntry(1, KindLink, 24)}, make([]byte, 24)),
		"a short list":              forgedItem([]entry{newEntry(1, KindList, 16)}, make([]byte, 16)),
		"half a link in a list":     forgedItem([]entry{newEntry(1, KindList, 32)}, make([]byte, 32)),
		"more links than it says":   forgedItem([]entry{newEntry(1, KindList, 40)}, listOf(0, Link{}, 1)),
		"less, without a chunk":     forgedItem([]entry{newEntry(1, KindList, 40)}, listOf(2, Link{}, 1)),
		"a chunk for nothing":       forgedItem([]entry{newEntry(1, KindList, 40)}, listOf(1, next, 1)),
		"more than can be counted":  forgedItem([]entry{newEntry(1, KindList, 40)}, listOf(1<<63, next, 1)),
	}
	for name, b := range bad {
		if _, err := b.parse(); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
}

// forged is the body of an item, and how many entries it has.
type forged struct {
	count int
	body  []byte
}

func forgedItem(entries []entry, payloads ...[]byte) forged {
	return forged{len(entries), body(entries, payloads...)}
}

func (f forged) parse() (Item, error) {
	b, l := forge(itemRecord, f.count, 1, f.body)
	return ParseItem(b, l, 3)
}

func TestForgedCounts(t *testing.T) {
	for name, f := range map[string]struct{ count, key int }{
		"too many entries": {1000, 1}, "no key": {0, 0}, "a key behind the end": {0, 9}, "the longest key": {0, MaxKey},
		"the most of both": {1<<16 - 1, MaxKey},
	} {
		b, l := forge(itemRecord, f.count, f.key, body(nil))
		if _, err := ParseItem(b, l, 3); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
	for _, count := range []int{0, 2, ChunkLinks, ChunkLinks + 1, 1<<16 - 1} {
		b, l := forge(chunkRecord, count, 0, make([]byte, LinkSize*2))
		if _, err := ParseChunk(b, l, 3); !errors.Is(err, ErrCorrupt) {
			t.Errorf("a chunk of 1 link that says %d: %v, want ErrCorrupt", count, err)
		}
	}
	b, l := forge(chunkRecord, ChunkLinks+1, 0, make([]byte, LinkSize*(ChunkLinks+2)))
	if _, err := ParseChunk(b, l, 3); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a chunk of %d links: %v, want ErrCorrupt", ChunkLinks+1, err)
	}
}

// K6: records of another format, and of other kinds, are rejected, right checksum or not.
func TestOtherFormats(t *testing.T) {
	for name, change := range map[string]func(b []byte){
		"format 2": func(b []byte) { b[offFormat] = 2 },
		"format 0": func(b []byte) { b[offFormat] = 0 },
		"kind 0":   func(b []byte) { b[offKind] = 0 },
		"kind 3":   func(b []byte) { b[offKind] = 3 },
	} {
		item, l := forge(itemRecord, 0, 1, body(nil))
		change(item)
		closeRecord(item)
		if _, err := ParseItem(item, l, 3); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
		chunk, l := forge(chunkRecord, 1, 0, make([]byte, LinkSize*2))
		change(chunk)
		closeRecord(chunk)
		if _, err := ParseChunk(chunk, l, 3); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s of a chunk: %v, want ErrCorrupt", name, err)
		}
	}
}

// readAll uses every view of an item, and returns how many bytes and links it saw.
func readAll(it Item) int {
	seen := len(it.Key()) + int(it.Type()) + len(it.Record())
	names := make([]uint16, 0, it.Len())
	for a := range it.Attrs() {
		names = append(names, a.Name)
	}
	for i, name := range names {
		a := it.Attr(i)
		seen += len(a.Bytes())
		if l, ok := it.List(name); ok {
			for j := range l.N() {
				seen += l.At(j).Area()
			}
			seen += l.Next().Len()
		}
		if l, ok := it.Link(name); ok {
			seen += l.Len()
		}
		if b, ok := it.Bytes(name); ok {
			seen += len(b)
		}
	}
	return seen
}

// mustRise checks that the attributes of a parsed item are in order.
func mustRise(t *testing.T, it Item) {
	t.Helper()
	last := -1
	for a := range it.Attrs() {
		if int(a.Name) <= last {
			t.Errorf("attribute %d comes after %d", a.Name, last)
		}
		last = int(a.Name)
	}
}

// K2: if bytes change after they were parsed, because they lie in memory of a server, views
// return other values, but links and lists keep their lengths.
func TestViewsOfBytesThatChange(t *testing.T) {
	forged := forgedItem([]entry{newEntry(1, KindBytes, 3), newEntry(2, KindLink, 16), newEntry(3, KindList, 56), newEntry(7, KindList, 24)},
		[]byte("abc"), make([]byte, 16), listOf(2, Link{}, 2), listOf(0, Link{}, 0))
	whole, err := forged.parse()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 200_000 {
		it := whole.Clone()
		for range 1 + rng.IntN(4) {
			at := rng.IntN(len(it.b))
			if it.b[at] = byte(rng.Uint32()); rng.IntN(2) == 0 {
				it.b[at] = 0xFF
			}
		}
		lookAt(t, round, it)
	}
}

// lookAt uses all views of an item whose bytes may be anything.
func lookAt(t *testing.T, round int, it Item) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("round %d: %v of % x", round, r, it.b)
		}
	}()
	_ = readAll(it)
	for i := range it.Len() {
		switch a := it.Attr(i); a.Kind {
		case KindLink:
			_ = a.Link()
		case KindList:
			l := a.List()
			if l.Len() < 0 || LinkSize*len(l.Append(nil)) > len(it.b) {
				t.Fatalf("round %d: a list of %d links, %d of them in an item of %d bytes", round, l.Len(), l.N(), len(it.b))
			}
			_ = l.Next()
		default:
			_ = a.Bytes()
		}
	}
}

func FuzzParseItem(f *testing.F) {
	f.Add(uint16(0), uint16(1), body(nil))
	f.Add(uint16(1), uint16(1), body([]entry{newEntry(1, KindBytes, 3)}, []byte("abc")))
	f.Add(uint16(2), uint16(1), body([]entry{newEntry(1, KindLink, 16), newEntry(2, KindList, 40)}, make([]byte, 16), listOf(1, Link{}, 1)))
	f.Fuzz(func(t *testing.T, count, keyLen uint16, body []byte) {
		raw := slices.Clone(body)
		if _, err := ParseItem(raw, NewLink(0, 0, len(raw), 3), 3); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("raw bytes: %v", err)
		}
		b, l := forge(itemRecord, int(count), int(keyLen), body)
		it, err := ParseItem(b, l, 3)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("%v is not ErrCorrupt", err)
			}
			return
		}
		mustRise(t, it)
		if readAll(it) < headerSize {
			t.Error("an item shorter than its header")
		}
	})
}

func FuzzParseChunk(f *testing.F) {
	f.Add(uint16(1), make([]byte, LinkSize*2))
	f.Add(uint16(3), make([]byte, LinkSize*4))
	f.Fuzz(func(t *testing.T, count uint16, body []byte) {
		b, l := forge(chunkRecord, int(count), 0, body)
		c, err := ParseChunk(b, l, 3)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("%v is not ErrCorrupt", err)
			}
			return
		}
		if c.N() != int(count) || c.N() > ChunkLinks {
			t.Errorf("%d links, the record says %d", c.N(), count)
		}
		for i := range c.N() {
			_ = c.At(i).String()
		}
		_ = c.Next().String()
	})
}
