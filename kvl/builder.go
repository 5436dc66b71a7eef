package kvl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// MaxKey is the length of the longest key.
const MaxKey = math.MaxUint16

var (
	// ErrDuplicate reports that two items have the same key, which the error names.
	ErrDuplicate = errors.New("kvl: duplicate key")
	// ErrDangling reports links to keys without an item, if Config.Dangling is Fail. Stats lists
	// them.
	ErrDangling = errors.New("kvl: dangling links")
	// ErrItem reports an invalid item. The Builder leaves it out, and remains usable.
	ErrItem = errors.New("kvl: item refused")
)

// Builder makes an image. The caller adds items one after the other, each by Begin, its attributes in
// any order, and End. Links name keys, whose items may be added before or after. Edge adds a single
// link to a list of any item, at any time. Seal makes the image.
//
// A Builder copies the slices passed to it. One goroutine at a time uses it. Calls out of order
// panic, and so do numbers that Name has not returned.
type Builder struct {
	cfg    Config
	schema *Schema
	keys   keys
	staged segments // items, in the format of stage.go
	edges  []edges
	nEdges uint64
	stats  Stats
	draft  draft
	err    error // the first permanent error
	closed bool
}

// NewBuilder returns a Builder that has no items.
func NewBuilder(cfg Config) (*Builder, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	b := &Builder{cfg: cfg, schema: newSchema(), staged: segments{arena: cfg.Memory.arena, purpose: "kvl builder items"}}
	b.keys.init(cfg.Memory.arena, newHasher())
	return b, nil
}

// Name returns the number of the name of a type or an attribute. New names get new numbers, from 1 on;
// the name "" has number 0.
func (b *Builder) Name(name string) (uint16, error) { return b.schema.add(name) }

// Begin begins an item. End refuses a key that is empty or longer than MaxKey.
func (b *Builder) Begin(typ uint16, key []byte) {
	b.mustBeOpen()
	if b.draft.begun {
		panic("kvl: Begin of an item before the End of the last one")
	}
	b.mustKnow(typ)
	b.draft.begin(typ, key)
}

// Bytes adds an attribute whose value is bytes.
func (b *Builder) Bytes(name uint16, value []byte) { b.drafting(name).bytes(name, value) }

// Link adds an attribute that is a link to the item with a key. With an empty key it leads nowhere.
func (b *Builder) Link(name uint16, key []byte) { b.drafting(name).link(name, key) }

// List adds an attribute that is a list of links, possibly empty. Calls of Add fill it, until the next
// attribute or End.
func (b *Builder) List(name uint16) { b.drafting(name).list(name) }

// Add adds a link to the list of the last List. An empty key adds nothing.
func (b *Builder) Add(key []byte) {
	d := b.drafting(0)
	if len(d.attrs) == 0 || d.attrs[len(d.attrs)-1].kind != KindList {
		panic("kvl: Add without a List before it")
	}
	if len(key) > 0 {
		d.add(key)
	}
}

// End ends the item. If its key, its length or two attributes of the same name are invalid, the item
// is left out, and the error is an ErrItem. All other errors are permanent. If a key was added twice,
// this End, a later one, or Seal returns ErrDuplicate.
func (b *Builder) End() error {
	d := b.drafting(0)
	d.begun = false
	if b.err != nil {
		return b.err
	}
	if err := d.check(b.schema); err != nil {
		return err
	}
	if err := b.stage(); err != nil {
		return b.fail(err)
	}
	b.stats.Items++
	b.stats.Links += int64(d.links)
	return b.err
}

// Edge adds a link to a list of an item, which may be added before, after, or be the current one.
// Links of a list are in the order of calls, behind those of Add; the item need not have called List.
// If name is an attribute of the item that is not a list, Seal fails. If a key is empty, as for a
// NULL, Edge adds nothing.
func (b *Builder) Edge(from []byte, name uint16, to []byte) {
	b.mustBeOpen()
	b.mustKnow(name)
	switch {
	case len(from) == 0 || len(to) == 0 || b.err != nil:
		return
	case len(from) > MaxKey || len(to) > MaxKey:
		_ = b.fail(fmt.Errorf("kvl: link %[2]s from or to a key of %[1]d bytes: the limit is %[3]d",
			max(len(from), len(to)), b.schema.Name(name), MaxKey))
		return
	case b.nEdges == math.MaxUint32:
		_ = b.fail(fmt.Errorf("kvl: Edge was called more than %d times", uint32(math.MaxUint32)))
		return
	}
	place, err := b.edgesOf(name).extend()
	if err != nil {
		_ = b.fail(err)
		return
	}
	b.nEdges++
	b.stats.Links++
	b.ask(from, place[:4], askSource)
	b.ask(to, place[4:8], askTarget)
}

// Back declares that the links which Edge adds under a name are back links: for each there is
// a link, or another Edge, in the other direction. If such a pair dangles, it is reported once.
func (b *Builder) Back(name uint16) {
	b.mustBeOpen()
	b.mustKnow(name)
	b.edgesOf(name).back = true
}

// Stats describes the items added so far. After Seal it describes the image and its dangling links,
// even if Seal failed because of these.
func (b *Builder) Stats() Stats {
	s := b.stats
	s.Dangled = slices.Clone(s.Dangled)
	return s
}

// Close frees the memory of the Builder, but not of the image. It may be called more than once.
func (b *Builder) Close() {
	b.closed = true
	b.keys.free()
	b.staged.free()
	for i := range b.edges {
		b.edges[i].free()
	}
}

// fail keeps the first permanent error, and returns it.
func (b *Builder) fail(err error) error {
	if b.err == nil {
		b.err = err
	}
	return b.err
}

// ask requests that the number of a key be written to a place; answer does so later.
func (b *Builder) ask(key, place []byte, what ask) {
	if b.err != nil || !b.keys.ask(key, place, what) {
		return
	}
	if err := b.keys.answer(); err != nil {
		_ = b.fail(err)
	}
}

// edgesOf returns the links of a name.
func (b *Builder) edgesOf(name uint16) *edges {
	for int(name) >= len(b.edges) {
		b.edges = append(b.edges, edges{segments: segments{arena: b.cfg.Memory.arena, purpose: "kvl builder edges"}})
	}
	return &b.edges[name]
}

func (b *Builder) drafting(name uint16) *draft {
	b.mustBeOpen()
	if !b.draft.begun {
		panic("kvl: a part of an item without its Begin")
	}
	b.mustKnow(name)
	return &b.draft
}

func (b *Builder) mustBeOpen() {
	if b.closed {
		panic("kvl: use of a Builder that is sealed or closed")
	}
}

func (b *Builder) mustKnow(name uint16) {
	if int(name) >= b.schema.Len() {
		panic(fmt.Sprintf("kvl: unknown name number %d: Name has returned numbers below %d", name, b.schema.Len()))
	}
}

// edges are the links that Edge added under one name: | from u32 | to u32 | each, by the
// numbers of their keys, in the order of calls.
type edges struct {
	segments
	back bool // dangling links are reported in the other direction
}

const edgeSize = 8

func (e *edges) extend() ([]byte, error) { return e.alloc(edgeSize) }

// edge decodes a link of edges.
func edge(b []byte) (from, to uint32) {
	return binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
}
