package kvl

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// gathered is an item as it is going to be: what was staged, with the links of Edge, and
// without those that dangle.
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
	ordered []byte // links of a list that came by Edge
	links   int    // of a list, those that do not dangle
}

// gather puts an item together. The result is valid until the next call.
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
			return nil, fmt.Errorf("kvl: %q has an attribute %q that is not a list, and Edge adds links to it",
				noteKeyOf(g.note), s.schema.Name(p.name))
		}
		at += pad8(int(e.length()))
	}
	g.lists(ordered, 1<<16)
	s.settle(g)
	if g.size > MaxRecord || len(g.parts) > maxAttrs {
		return nil, fmt.Errorf("kvl: %q would have %d bytes and %d attributes, at most %d and %d are possible",
			noteKeyOf(g.note), g.size, len(g.parts), MaxRecord, maxAttrs)
	}
	return g, nil
}

// part adds an attribute, which is filled in place: it is too long to be copied about.
func (g *gathered) part(name uint16, kind Kind) *part {
	if len(g.parts) == cap(g.parts) {
		g.parts = slices.Grow(g.parts, 1)
	}
	g.parts = g.parts[:len(g.parts)+1]
	p := &g.parts[len(g.parts)-1]
	p.name, p.kind, p.staged, p.ordered, p.links = name, kind, nil, nil, 0
	return p
}

// lists adds lists that came by Edge alone, with names below a limit, and returns the
// other links.
func (g *gathered) lists(ordered []byte, limit uint32) []byte {
	for len(ordered) > 0 && nameOf(ordered) < limit {
		p := g.part(uint16(nameOf(ordered)), KindList)
		p.ordered, ordered = runOf(ordered, p.name)
	}
	return ordered
}

func nameOf(ordered []byte) uint32 { return binary.LittleEndian.Uint32(ordered[4:]) }

// runOf cuts the links of a name off the beginning.
func runOf(ordered []byte, name uint16) (run, rest []byte) {
	n := 0
	for n < len(ordered) && nameOf(ordered[n:]) == uint32(name) {
		n += edgeSize
	}
	return ordered[:n], ordered[n:]
}

// settle drops what dangles and computes the length of the record.
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

// dangles reports whether a number leads to a key that is not there. Where all keys are
// there, there is nothing to look at.
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

// listNumbers returns where the links of a list lead that do not dangle, valid until the next
// call.
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
