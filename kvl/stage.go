package kvl

import "encoding/binary"

// A staged item waits for Seal: it is complete, but with numbers of keys in place of links.
//
//	0   key         u32   its number
//	4   type        u16
//	6   attributes  u16
//	8   an entry for each attribute, as in an item, with the length of the staged payload
//	..  payloads in the order of the entries, each padded to 8:
//	    bytes; the number of the key of a link, 0 for nowhere; the numbers of a list
const (
	stagedHead = 8
	numberSize = 4
)

// stagedLen returns the length of the payload of an attribute in a staged item.
func (a *drafted) stagedLen() int {
	switch a.kind {
	case KindLink:
		return numberSize
	case KindList:
		return numberSize * a.links
	default:
		return a.end - a.begin
	}
}

func (d *draft) stagedSize() int {
	n := stagedHead + entrySize*len(d.attrs)
	for i := range d.attrs {
		n += pad8(d.attrs[i].stagedLen())
	}
	return n
}

// stage adds the draft to the staged items.
func (b *Builder) stage() error {
	d := &b.draft
	p, err := b.staged.alloc(d.stagedSize())
	if err != nil {
		return err
	}
	binary.LittleEndian.PutUint16(p[4:], d.typ)
	binary.LittleEndian.PutUint16(p[6:], uint16(len(d.attrs)))
	b.ask(d.key, p[:4], askItem)
	at := stagedHead + entrySize*len(d.attrs)
	for i := range d.attrs {
		a := &d.attrs[i]
		n := a.stagedLen()
		binary.LittleEndian.PutUint64(p[stagedHead+entrySize*i:], uint64(newEntry(a.name, a.kind, n)))
		text := d.text[a.begin:a.end]
		if a.kind == KindBytes {
			copy(p[at:], text)
		} else {
			b.stageLinks(p[at:], text)
		}
		at += pad8(n)
	}
	return b.err
}

// stageLinks asks for the numbers of the keys of links.
func (b *Builder) stageLinks(p, text []byte) {
	for len(text) > 0 {
		end := keyLenSize + int(binary.LittleEndian.Uint16(text))
		b.ask(text[keyLenSize:end], p[:numberSize], askTarget)
		p, text = p[numberSize:], text[end:]
	}
}

// stagedItem is a view of a staged item, and what follows it.
type stagedItem []byte

func (s stagedItem) key() uint32 { return binary.LittleEndian.Uint32(s) }
func (s stagedItem) typ() uint16 { return binary.LittleEndian.Uint16(s[4:]) }
func (s stagedItem) len() int    { return int(binary.LittleEndian.Uint16(s[6:])) }
func (s stagedItem) entry(i int) entry {
	return entry(binary.LittleEndian.Uint64(s[stagedHead+entrySize*i:]))
}
func (s stagedItem) payloads() int { return stagedHead + entrySize*s.len() }
