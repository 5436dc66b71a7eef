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
	keyLen, count uint16 // as they were when ParseItem checked them
}

// itemOf returns a view of bytes that begin with the header of an item.
func itemOf(b []byte) Item {
	return Item{b, binary.LittleEndian.Uint16(b[offKeyLen:]), binary.LittleEndian.Uint16(b[offCount:])}
}

// ParseItem verifies bytes that were read by a link in a generation, and returns a view of them. If
// the bytes are not the item of the link, the error is an ErrCorrupt (K1, K2). ParseItem allocates
// only errors.
func ParseItem(b []byte, l Link, generation uint64) (Item, error) {
	if err := checkRecord(b, l, generation, itemRecord); err != nil {
		return Item{}, err
	}
	it := itemOf(b)
	if !it.wellFormed() {
		return Item{}, fmt.Errorf("%w: the item at link %v has malformed attributes", ErrCorrupt, l)
	}
	return it, nil
}

// wellFormed verifies what methods of a view rely on: entries, key and payloads fill the
// record exactly, names rise, and links and lists have valid lengths.
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

// cut returns bytes of the item, or nil if they are outside because the item has changed.
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

// entry describes an attribute in the head of an item.
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

// entries returns the offset of the first entry, payloads that of the first payload.
func (it Item) entries() int     { return headerSize + pad8(int(it.keyLen)) }
func (it Item) payloads() uint64 { return uint64(it.entries() + entrySize*it.Len()) }

// IsZero reports whether this is the zero Item.
func (it Item) IsZero() bool { return it.b == nil }

// Type returns the number of the item's type; the schema has its name.
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

// Attr returns attribute i, in the order of name numbers. It panics if i is not in [0, Len).
// If the bytes may change (K2), call it once for each attribute: a second call may return another
// kind.
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

// Attrs yields all attributes, in the order of name numbers.
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

// payload returns the bytes of an attribute, and whether the item has one of this name and kind.
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

// Bytes returns the value of an attribute that is bytes, as a view. It returns false if the
// item has no such attribute, or the attribute is of another kind.
func (it Item) Bytes(name uint16) ([]byte, bool) { return it.payload(name, KindBytes) }

// Link returns the value of an attribute that is a link, which may lead nowhere. It returns
// false if the item has no such attribute, or the attribute is of another kind.
func (it Item) Link(name uint16) (Link, bool) {
	p, ok := it.payload(name, KindLink)
	if !ok {
		return Link{}, false
	}
	return asLink(p), true
}

// List returns the value of an attribute that is a list of links, as a view. It returns false
// if the item has no such attribute, or the attribute is of another kind.
func (it Item) List(name uint16) (List, bool) {
	p, ok := it.payload(name, KindList)
	return asList(p), ok
}

// Attr is an attribute of an item, a view of its bytes.
type Attr struct {
	Name    uint16 // number in the schema
	Kind    Kind
	payload []byte
}

// Bytes returns the value if it is bytes, and the encoded value of other kinds.
func (a Attr) Bytes() []byte { return a.payload }

// Link returns the value of a link. It panics if the attribute is of another kind.
func (a Attr) Link() Link {
	a.must(KindLink)
	return asLink(a.payload)
}

// List returns the value of a list of links. It panics if the attribute is of another kind.
func (a Attr) List() List {
	a.must(KindList)
	return asList(a.payload)
}

func (a Attr) must(kind Kind) {
	if a.Kind != kind {
		panic(fmt.Sprintf("kvl: attribute %d is of kind %d, not %d", a.Name, a.Kind, kind))
	}
}

// asLink decodes a payload. It returns the zero Link if the payload has changed its length.
func asLink(p []byte) Link {
	if len(p) != LinkSize {
		return Link{}
	}
	return ParseLink(p)
}
