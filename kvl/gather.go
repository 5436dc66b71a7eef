package kvl

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// gathered is an item as it will be written: the staged item with the links of Edge, without
// dangling links.
type gathered struct {
	typ   uint16
	note  []byte
	parts []part
	size  int // of the record
}

// part is an attribute.
type part struct {
	name    uint16
	kind    Kind
	staged  []byte // payload
	ordered []byte // links of a list that Edge added
	links   int    // number of links of a list that do not dangle
}

// gather assembles an item. The result is valid until the next call.
func (s *sealer) gather(it stagedItem) (*gathered, error) {
	g := &s.item
	g.typ, g.note, g.parts = it.typ(), s.keys.note(it.key()), g.parts[:0]
	ordered := s.edgesTo(g.note)
	at := it.payloads()
	for i := range it.len() {
		e := it.entry(i)
		if len(ordered) > 0 {
			ordered = g.lists(ordered, uint32(e.name()))
		}
		p := g.part(e.name(), e.kind())
		p.staged = it[at : at+int(e.length())]
		if len(ordered) > 0 {
			p.ordered, ordered = runOf(ordered, p.name)
		}
		if len(p.ordered) > 0 && p.kind != KindList {
			return nil, fmt.Errorf("kvl: Edge adds links to attribute %[2]q of %[1]q, which is not a list",
				noteKeyOf(g.note), s.schema.Name(p.name))
		}
		at += pad8(int(e.length()))
	}
	g.lists(ordered, 1<<16)
	s.settle(g)
	if g.size > MaxRecord || len(g.parts) > maxAttrs {
		return nil, fmt.Errorf("kvl: %q would have %d bytes and %d attributes, the limits are %d and %d",
			noteKeyOf(g.note), g.size, len(g.parts), MaxRecord, maxAttrs)
	}
	return g, nil
}

// part appends an attribute, and returns it to be filled in place, which avoids copies.
func (g *gathered) part(name uint16, kind Kind) *part {
	if len(g.parts) == cap(g.parts) {
		g.parts = slices.Grow(g.parts, 1)
	}
	g.parts = g.parts[:len(g.parts)+1]
	p := &g.parts[len(g.parts)-1]
	p.name, p.kind, p.staged, p.ordered, p.links = name, kind, nil, nil, 0
	return p
}

// lists appends the lists that only Edge has filled, with names below limit, and returns the
// remaining links.
func (g *gathered) lists(ordered []byte, limit uint32) []byte {
	for len(ordered) > 0 && nameOf(ordered) < limit {
		p := g.part(uint16(nameOf(ordered)), KindList)
		p.ordered, ordered = runOf(ordered, p.name)
	}
	return ordered
}

func nameOf(ordered []byte) uint32 { return binary.LittleEndian.Uint32(ordered[4:]) }

// runOf splits off the leading links with a name.
func runOf(ordered []byte, name uint16) (run, rest []byte) {
	n := 0
	for n < len(ordered) && nameOf(ordered[n:]) == uint32(name) {
		n += edgeSize
	}
	return ordered[:n], ordered[n:]
}

// settle drops dangling links and computes the length of the record.
func (s *sealer) settle(g *gathered) {
	kept := 0
	size := headerSize + pad8(len(noteKeyOf(g.note)))
	for i := range g.parts {
		p := &g.parts[i]
		switch p.kind {
		case KindLink:
			if s.cfg.Dangling == Drop && s.dangles(p.staged) {
				continue
			}
			size += LinkSize
		case KindList:
			p.links = s.countLinks(p)
			size += listHead + LinkSize*min(p.links, s.cfg.Inline)
		default:
			size += pad8(len(p.staged))
		}
		if kept != i {
			g.parts[kept] = *p
		}
		kept++
	}
	g.parts, g.size = g.parts[:kept], size+entrySize*kept
}

// dangles reports whether a number leads to a key without an item.
func (s *sealer) dangles(number []byte) bool {
	n := binary.LittleEndian.Uint32(number)
	return s.keys.awaited > 0 && n != 0 && !s.keys.has(n)
}

// countLinks returns how many links of a list do not dangle.
func (s *sealer) countLinks(p *part) int {
	n := len(p.staged)/numberSize + len(p.ordered)/edgeSize
	if s.keys.awaited == 0 {
		return n
	}
	for at := 0; at < len(p.staged); at += numberSize {
		if s.dangles(p.staged[at:]) {
			n--
		}
	}
	for at := 0; at < len(p.ordered); at += edgeSize {
		if s.dangles(p.ordered[at:]) {
			n--
		}
	}
	return n
}

// listNumbers returns the targets of the links of a list that do not dangle. The result is valid
// until the next call.
func (s *sealer) listNumbers(p *part) []uint32 {
	ns := s.listed[:0]
	for at := 0; at < len(p.staged); at += numberSize {
		if !s.dangles(p.staged[at:]) {
			ns = append(ns, binary.LittleEndian.Uint32(p.staged[at:]))
		}
	}
	for at := 0; at < len(p.ordered); at += edgeSize {
		if !s.dangles(p.ordered[at:]) {
			ns = append(ns, binary.LittleEndian.Uint32(p.ordered[at:]))
		}
	}
	s.listed = ns
	return ns
}
