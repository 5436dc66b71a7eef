package kvl

import "encoding/binary"

// write writes an item and its chunks to their places.
func (s *sealer) write(it stagedItem) error {
	g, err := s.gather(it)
	if err != nil {
		return err
	}
	rec, l := s.take(g.size)
	key := noteKeyOf(g.note)
	putHeader(rec, s.cfg.Generation, itemRecord, g.typ, len(g.parts), len(key))
	copy(rec[headerSize:], key)
	entries := rec[headerSize+pad8(len(key)):]
	at := len(rec) - len(entries) + entrySize*len(g.parts)
	for i := range g.parts {
		p := &g.parts[i]
		n := s.writePart(rec[at:], p)
		binary.LittleEndian.PutUint64(entries[entrySize*i:], uint64(newEntry(p.name, p.kind, n)))
		at += pad8(n)
	}
	closeRecord(rec)
	s.image.index.add(s.keys.hasher.hash(key), l)
	return nil
}

// take returns the memory of the next record, and the link to it.
func (s *sealer) take(size int) ([]byte, Link) {
	area, off := s.places.place(size)
	return s.image.bytes[area][off : off+size : off+size], NewLink(area, int64(off), size, s.cfg.Generation)
}

// writePart writes a payload and returns its length.
func (s *sealer) writePart(b []byte, p *part) int {
	switch p.kind {
	case KindLink:
		if n := binary.LittleEndian.Uint32(p.staged); n != 0 && !s.dangles(p.staged) {
			s.putLinks(b, []uint32{n})
			s.stats.Links++
		} else {
			s.stats.Nowhere++
		}
		return LinkSize
	case KindList:
		return s.writeList(b, s.listNumbers(p))
	default:
		return copy(b, p.staged)
	}
}

// writeList writes a list and its chunks.
func (s *sealer) writeList(b []byte, numbers []uint32) int {
	inline := min(len(numbers), s.cfg.Inline)
	binary.LittleEndian.PutUint64(b, uint64(len(numbers)))
	s.putLinks(b[listHead:], numbers[:inline])
	numbers = numbers[inline:]
	next := b[8:listHead]
	var open []byte // the previous chunk, which lacks the link to this one
	for len(numbers) > 0 {
		n := min(len(numbers), ChunkLinks)
		rec, l := s.take(chunkSize(len(numbers)))
		l.Put(next)
		if open != nil {
			closeRecord(open)
		}
		putHeader(rec, s.cfg.Generation, chunkRecord, 0, n, 0)
		s.putLinks(rec[chunkHead:], numbers[:n])
		next, open, numbers = rec[headerSize:chunkHead], rec, numbers[n:]
	}
	if open != nil {
		closeRecord(open)
	}
	return listHead + LinkSize*inline
}

// putLinks writes links to items by the numbers of their keys.
func (s *sealer) putLinks(b []byte, numbers []uint32) {
	stamp := uint64(uint32(s.cfg.Generation)) << 32
	for i, n := range numbers {
		note := s.keys.note(n)
		at := b[i*LinkSize : (i+1)*LinkSize]
		binary.LittleEndian.PutUint64(at, binary.LittleEndian.Uint64(note[noteWhere:]))
		binary.LittleEndian.PutUint64(at[8:], uint64(binary.LittleEndian.Uint32(note[noteLength:]))|stamp)
	}
}
