package kvl

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// draft is the item being added: its attributes in the order of calls.
type draft struct {
	begun bool
	typ   uint16
	key   []byte
	attrs []drafted
	text  []byte // values, and keys of links, each after its length
	links int    // number of links that lead somewhere
	long  int    // length of a key that is too long, or 0
}

// drafted is an attribute of a draft.
type drafted struct {
	name       uint16
	kind       Kind
	begin, end int // in text
	links      int
}

const (
	keyLenSize = 2
	maxText    = MaxRecord / 2 // leaves room for links and headers
	maxAttrs   = math.MaxUint16
)

func (d *draft) begin(typ uint16, key []byte) {
	d.begun, d.typ, d.links, d.long = true, typ, 0, 0
	d.key, d.attrs, d.text = append(d.key[:0], key...), d.attrs[:0], d.text[:0]
}

func (d *draft) attr(name uint16, kind Kind) *drafted {
	n := len(d.attrs)
	if n == cap(d.attrs) {
		d.attrs = slices.Grow(d.attrs, 1)
	}
	d.attrs = d.attrs[:n+1]
	a := &d.attrs[n]
	a.name, a.kind, a.begin, a.end, a.links = name, kind, len(d.text), len(d.text), 0
	return a
}

func (d *draft) bytes(name uint16, value []byte) {
	a := d.attr(name, KindBytes)
	d.text = append(d.text, value...)
	a.end = len(d.text)
}

func (d *draft) link(name uint16, key []byte) {
	d.attr(name, KindLink)
	if len(key) > 0 {
		d.add(key)
	}
}

func (d *draft) list(name uint16) { d.attr(name, KindList) }

// add adds a link to the last attribute.
func (d *draft) add(key []byte) {
	if len(key) > MaxKey {
		d.long = len(key)
		return
	}
	d.text = binary.LittleEndian.AppendUint16(d.text, uint16(len(key)))
	d.text = append(d.text, key...)
	a := &d.attrs[len(d.attrs)-1]
	a.end = len(d.text)
	a.links++
	d.links++
}

// check sorts the attributes, and returns an error if the item is invalid.
func (d *draft) check(schema *Schema) error {
	switch {
	case len(d.key) == 0 || len(d.key) > MaxKey:
		return fmt.Errorf("%w: a key of type %q has %d bytes, must have 1 to %d: %.40q",
			ErrItem, schema.Name(d.typ), len(d.key), MaxKey, d.key)
	case d.long > 0:
		return fmt.Errorf("%w: %q has a link to a key of %d bytes, the limit is %d", ErrItem, d.key, d.long, MaxKey)
	case len(d.text) > maxText || len(d.attrs) > maxAttrs:
		return fmt.Errorf("%w: %q has %d bytes and %d attributes, the limits are %d and %d",
			ErrItem, d.key, len(d.text), len(d.attrs), maxText, maxAttrs)
	}
	if d.rise() {
		return nil
	}
	slices.SortStableFunc(d.attrs, func(x, y drafted) int { return cmp.Compare(x.name, y.name) })
	for i := 1; i < len(d.attrs); i++ {
		if d.attrs[i].name == d.attrs[i-1].name {
			return fmt.Errorf("%w: %q has attribute %q twice", ErrItem, d.key, schema.Name(d.attrs[i].name))
		}
	}
	return nil
}

// rise reports whether the attributes are sorted by name number, without duplicates.
func (d *draft) rise() bool {
	for i := 1; i < len(d.attrs); i++ {
		if d.attrs[i].name <= d.attrs[i-1].name {
			return false
		}
	}
	return true
}
