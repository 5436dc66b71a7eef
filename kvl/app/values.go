package app

import (
	"encoding/binary"
	"fmt"
	"strconv"
)

const (
	// Inline is how many links or keys of a list are in the item itself.
	Inline = 16
	// ChunkKeys is how many are in each of the values that have the others.
	ChunkKeys = 100
)

// Put stores a value. Both are valid until it returns.
type Put func(key, value []byte) error

// valueSink makes plain values: attributes one after the other, each
//
//	| attribute u8 | length u32 | bytes |
//
// of which a link is the key of what it leads to, and a list is its keys, each with its
// length (u8) in front. Behind a list that goes on is nextAttr with the key of the value
// that has the rest: there is one list in an item here.
type valueSink struct {
	put   Put
	key   []byte
	value []byte
	open  int // where the length of the list that is being filled is, 0 when there is none

	chunk    []byte // of a list that is longer
	chunkKey []byte
	inChunk  int // keys in it
	chunks   int
	keys     int // of the list
	err      error
}

// Attributes of lists that are longer: the key of the value that goes on with it, and in
// that one its keys.
const (
	nextAttr = attrs + iota
	restAttr
)

func (s *valueSink) begin(_ kind, key []byte) {
	s.key, s.value = append(s.key[:0], key...), s.value[:0]
	s.chunks = 0
}

func (s *valueSink) bytes(a attr, value []byte) {
	s.close()
	s.value = appendAttr(s.value, a, value)
}

func appendAttr(b []byte, a attr, value []byte) []byte {
	b = binary.LittleEndian.AppendUint32(append(b, byte(a)), uint32(len(value)))
	return append(b, value...)
}

func (s *valueSink) link(a attr, key []byte) { s.bytes(a, key) }

func (s *valueSink) list(a attr) {
	s.close()
	s.value = appendAttr(s.value, a, nil)
	s.open, s.keys, s.inChunk = len(s.value), 0, 0
}

func (s *valueSink) add(key []byte) {
	if s.keys++; s.keys <= Inline {
		s.value = append(append(s.value, byte(len(key))), key...)
		return
	}
	if s.keys == Inline+1 {
		s.nextChunk()
		s.closeInline()
		s.value = appendAttr(s.value, nextAttr, s.chunkKey)
		s.open = len(s.value) // closed, as it is
	}
	if s.inChunk == ChunkKeys {
		last := append([]byte(nil), s.chunkKey...)
		s.nextChunk()
		s.flush(last, s.chunkKey)
	}
	s.chunk = append(append(s.chunk, byte(len(key))), key...)
	s.inChunk++
}

// nextChunk names the chunk that follows.
func (s *valueSink) nextChunk() {
	s.chunks++
	s.chunkKey = append(append(s.chunkKey[:0], s.key...), '#')
	s.chunkKey = strconv.AppendInt(s.chunkKey, int64(s.chunks), 36)
}

// flush stores the chunk that is full, or the last one.
func (s *valueSink) flush(key, next []byte) {
	b := appendAttr(nil, restAttr, s.chunk)
	if next != nil {
		b = appendAttr(b, nextAttr, next)
	}
	if err := s.put(key, b); err != nil && s.err == nil {
		s.err = err
	}
	s.chunk, s.inChunk = s.chunk[:0], 0
}

// closeInline writes the length of the part of a list that is in the value.
func (s *valueSink) closeInline() {
	binary.LittleEndian.PutUint32(s.value[s.open-4:], uint32(len(s.value)-s.open))
}

// close ends the list that is being filled, if there is one.
func (s *valueSink) close() {
	if s.open == 0 {
		return
	}
	if s.keys <= Inline {
		s.closeInline()
	}
	if s.inChunk != 0 {
		s.flush(s.chunkKey, nil)
	}
	s.open = 0
}

func (s *valueSink) end() error {
	s.close()
	if err := s.put(s.key, s.value); err != nil && s.err == nil {
		s.err = err
	}
	if s.err != nil {
		return fmt.Errorf("app: storing %q: %w", s.key, s.err)
	}
	return nil
}

// value is a view of what a valueSink made.
type value []byte

// get returns an attribute; nil when it is not there, or the bytes are no value.
func (v value) get(a attr) []byte {
	for len(v) >= 5 {
		n := uint64(binary.LittleEndian.Uint32(v[1:]))
		if n > uint64(len(v)-5) {
			return nil
		}
		if v[0] == byte(a) {
			return v[5 : 5+n]
		}
		v = v[5+n:]
	}
	return nil
}

// eachKey calls f with the keys of a list, as far as they are in it.
func eachKey(list []byte, f func(key []byte)) {
	for len(list) != 0 && int(list[0]) < len(list) {
		n := int(list[0])
		f(list[1 : 1+n])
		list = list[1+n:]
	}
}

// Values stores all items as plain values. It returns how many.
func (g *Graph) Values(put Put) (int, error) { return fillValues(g.fill, put) }

// Values is Graph.Values.
func (s *Shop) Values(put Put) (int, error) { return fillValues(s.fill, put) }

// Values is Graph.Values.
func (c *City) Values(put Put) (int, error) { return fillValues(c.fill, put) }

func fillValues(fill func(sink) error, put Put) (n int, err error) {
	s := valueSink{put: func(key, value []byte) error {
		n++
		return put(key, value)
	}}
	err = fill(&s)
	return n, err
}
