package kvl

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
)

// Kind says what an attribute's value is. A reader skips kinds that it does not know (K6).
type Kind uint8

// The kinds of attributes.
const (
	KindBytes Kind = 1
	KindLink  Kind = 2
	KindList  Kind = 3
)

// Item is a view of the bytes of an item, which ParseItem has checked. It is valid as long as the
// bytes do not change; its methods cannot fail even if they do (K2). Only IsZero may be called on
// the zero Item.
type Item struct {
	b             []byte
	keyLen, count uint16 // as they were when they were checked
}

// itemOf is a view of bytes that begin with the header of an item.
func itemOf(b []byte) Item {
	return Item{b, binary.LittleEndian.Uint16(b[offKeyLen:]), binary.LittleEndian.Uint16(b[offCount:])}
}

// ParseItem checks bytes that were read by a link in a generation, and returns a view of them. If
// the bytes are not the item of the link, the error is an ErrCorrupt (K1, K2). Without an error
// ParseItem does not allocate.
func ParseItem(b []byte, l Link, generation uint64) (Item, error) {
	if err := checkRecord(b, l, generation, itemRecord); err != nil {
		return Item{}, err
	}
	it := itemOf(b)
	if !it.wellFormed() {
		return Item{}, fmt.Errorf("%w: the attributes of the item at link %v do not fit it", ErrCorrupt, l)
	}
	return it, nil
}

// wellFormed reports whether entries, key and payloads of an item are what views of it
// rely on: they fill the record exactly, names rise, links and lists have their lengths.
func (it Item) wellFormed() bool {
	at := it.payloads()
	if at > uint64(len(it.b)) || it.keyLen == 0 {
		return false
	}
	last := -1
	for i := range it.Len() {
		e := it.entry(i)
		if int(e.name()) <= last || at+e.length() > uint64(len(it.b)) {
			return false
		}
		if !validPayload(e.kind(), it.cut(at, e.length())) {
			return false
		}
		last = int(e.name())
		at += pad8(e.length())
	}
	return at == uint64(len(it.b))
}

// cut returns bytes of the item, nil where it has none: it had when it was checked.
func (it Item) cut(at, n uint64) []byte {
	if size := uint64(len(it.b)); at > size || n > size-at {
		return nil
	}
	return it.b[at : at+n : at+n]
}

func validPayload(kind Kind, p []byte) bool {
	switch kind {
	case KindLink:
		return len(p) == LinkSize
	case KindList:
		return validList(p)
	default:
		return true
	}
}

// entry is what stands in the head of an item for an attribute.
type entry uint64

func (e entry) name() uint16   { return uint16(e) }
func (e entry) kind() Kind     { return Kind(e >> 16) }
func (e entry) length() uint64 { return uint64(e >> 32) }

func newEntry(name uint16, kind Kind, length int) entry {
	return entry(name) | entry(kind)<<16 | entry(length)<<32
}

func (it Item) entry(i int) entry {
	return entry(binary.LittleEndian.Uint64(it.b[it.entries()+entrySize*i:]))
}

// entries is where the first entry begins, payloads where the first payload does.
func (it Item) entries() int     { return headerSize + pad8(int(it.keyLen)) }
func (it Item) payloads() uint64 { return uint64(it.entries() + entrySize*it.Len()) }

// IsZero reports whether this is the zero Item.
func (it Item) IsZero() bool { return it.b == nil }

// Type returns the number of the item's type, which the schema has a name for.
func (it Item) Type() uint16 { return binary.LittleEndian.Uint16(it.b[offType:]) }

// Generation returns the generation of the image that the item is in.
func (it Item) Generation() uint64 { return binary.LittleEndian.Uint64(it.b[offGeneration:]) }

// Key returns the key, a view of the item's bytes.
func (it Item) Key() []byte {
	end := headerSize + int(it.keyLen)
	return it.b[headerSize:end:end]
}

// Record returns the bytes of the whole item.
func (it Item) Record() []byte { return it.b }

// Clone returns an item that shares no memory with this one.
func (it Item) Clone() Item { return Item{bytes.Clone(it.b), it.keyLen, it.count} }

// Len returns how many attributes the item has.
func (it Item) Len() int { return int(it.count) }

// Attr returns an attribute. Those of an item are in the order of their names' numbers.
// An index that is not in [0, Len) panics. Take it once: if the bytes change (K2), a second one
// may be of another kind.
func (it Item) Attr(i int) Attr {
	if i < 0 || i >= it.Len() {
		panic(fmt.Sprintf("kvl: attribute %d of an item that has %d", i, it.Len()))
	}
	at := it.payloads()
	for j := range i {
		at += pad8(it.entry(j).length())
	}
	return it.attr(it.entry(i), at)
}

// Attrs yields all attributes, in the order of their names' numbers.
func (it Item) Attrs() iter.Seq[Attr] {
	return func(yield func(Attr) bool) {
		at := it.payloads()
		for i := range it.Len() {
			e := it.entry(i)
			if !yield(it.attr(e, at)) {
				return
			}
			at += pad8(e.length())
		}
	}
}

func (it Item) attr(e entry, at uint64) Attr {
	return Attr{Name: e.name(), Kind: e.kind(), payload: it.cut(at, e.length())}
}

// payload returns the bytes of an attribute of a kind.
func (it Item) payload(name uint16, kind Kind) ([]byte, bool) {
	at := it.payloads()
	for i := range it.Len() {
		e := it.entry(i)
		if e.name() >= name {
			if e.name() > name || e.kind() != kind {
				return nil, false
			}
			return it.cut(at, e.length()), true
		}
		at += pad8(e.length())
	}
	return nil, false
}

// Bytes returns the value of an attribute that is bytes, a view of the item's bytes. It
// is false if the item has no such attribute, or it is not bytes.
func (it Item) Bytes(name uint16) ([]byte, bool) { return it.payload(name, KindBytes) }

// Link returns the value of an attribute that is a link, which may lead nowhere. It is
// false if the item has no such attribute, or it is not a link.
func (it Item) Link(name uint16) (Link, bool) {
	p, ok := it.payload(name, KindLink)
	if !ok {
		return Link{}, false
	}
	return asLink(p), true
}

// List returns the value of an attribute that is a list of links, a view of the item's
// bytes. It is false if the item has no such attribute, or it is not a list.
func (it Item) List(name uint16) (List, bool) {
	p, ok := it.payload(name, KindList)
	return asList(p), ok
}

// Attr is an attribute of an item, a view of its bytes.
type Attr struct {
	Name    uint16 // by its number in the schema
	Kind    Kind
	payload []byte
}

// Bytes returns the value if it is bytes; of other kinds, how it is encoded.
func (a Attr) Bytes() []byte { return a.payload }

// Link returns the value of a link. An attribute of another kind panics.
func (a Attr) Link() Link {
	a.must(KindLink)
	return asLink(a.payload)
}

// List returns the value of a list of links. An attribute of another kind panics.
func (a Attr) List() List {
	a.must(KindList)
	return asList(a.payload)
}

func (a Attr) must(kind Kind) {
	if a.Kind != kind {
		panic(fmt.Sprintf("kvl: attribute %d is of kind %d, not %d", a.Name, a.Kind, kind))
	}
}

// asLink is the link of a payload, the zero Link of one that is none any more.
func asLink(p []byte) Link {
	if len(p) != LinkSize {
		return Link{}
	}
	return ParseLink(p)
}
