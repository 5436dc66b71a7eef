package keli

import (
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/kvl"
)

// The procedures.
const (
	procLookup = 1
	procInfo   = 2
	procStats  = 3
	procReload = 4
)

// status is how a lookup ended.
type status uint8

const (
	found     status = iota
	foundLong        // too long to be sent
	notFound         // in that generation
	noGeneration
	numStatus
)

const (
	requestHead = 8
	answerHead  = 32
	// maxSent is the longest record in an answer. Clients READ longer ones.
	maxSent = 32 << 10
)

// appendRequest appends a request for a key in a generation, or in the current one for 0.
func appendRequest(b []byte, generation uint64, key []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(b, generation), key...)
}

// answer is the result of a lookup.
type answer struct {
	status     status
	generation uint64
	link       kvl.Link
	record     []byte
}

// append appends the answer to b.
func (a *answer) append(b []byte) []byte {
	var head [answerHead]byte
	head[0] = byte(a.status)
	binary.LittleEndian.PutUint64(head[8:], a.generation)
	a.link.Put(head[16:])
	return append(append(b, head[:]...), a.record...)
}

// parseAnswer decodes the result of a lookup, which may be any bytes. It leaves the record for
// kvl.ParseItem to check.
func parseAnswer(b []byte) (a answer, err error) {
	if len(b) < answerHead || status(b[0]) >= numStatus {
		return a, fmt.Errorf("keli: malformed answer of %d bytes: %w", len(b), ErrProtocol)
	}
	a = answer{
		status: status(b[0]), generation: binary.LittleEndian.Uint64(b[8:]),
		link: kvl.ParseLink(b[16:]), record: b[answerHead:],
	}
	if (a.status == found) != (len(a.record) != 0) || (a.status <= foundLong) == a.link.IsZero() {
		return a, fmt.Errorf("keli: malformed answer with status %d, link %v and a record of %d bytes: %w", a.status, a.link, len(a.record), ErrProtocol)
	}
	return a, nil
}
