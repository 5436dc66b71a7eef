package wire

import (
	"encoding/binary"
	"errors"
)

// Marks of an entry.
type Marks uint8

// The marks.
const (
	// More: the message goes on in the next entry.
	More Marks = 1 << iota
	// Failure: the message is a code and a text.
	Failure
)

// ErrEntry is an entry that does not fit the payload it is in.
var ErrEntry = errors.New("wire: an entry reaches beyond its frame")

// PutEntry writes the header of an entry of n bytes into b.
func PutEntry(b []byte, n int, m Marks) {
	binary.LittleEndian.PutUint32(b, uint32(n)|uint32(m)<<30)
}

// NextEntry takes the first entry off a payload.
func NextEntry(payload []byte) (entry, rest []byte, m Marks, err error) {
	if len(payload) < EntryHeader {
		return nil, nil, 0, ErrEntry
	}
	v := binary.LittleEndian.Uint32(payload)
	n := int(v & MaxEntry)
	if n > len(payload)-EntryHeader {
		return nil, nil, 0, ErrEntry
	}
	return payload[EntryHeader : EntryHeader+n : EntryHeader+n], payload[EntryHeader+n:], Marks(v >> 30), nil
}

// AppendFailure appends the bytes of a failure.
func AppendFailure(b []byte, code uint16, text string) []byte {
	return append(binary.LittleEndian.AppendUint16(b, code), text...)
}

// ParseFailure is the inverse of AppendFailure; what is too short to be one is
// a failure without code.
func ParseFailure(b []byte) (code uint16, text string) {
	if len(b) < 2 {
		return 0, ""
	}
	return binary.LittleEndian.Uint16(b), string(b[2:])
}
