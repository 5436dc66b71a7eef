package wire

import (
	"encoding/binary"
	"math"

	"github.com/zeebo/xxh3"
)

// Sizes and limits of frames.
const (
	RequestHeader = 16
	ResultHeader  = 8
	TailSize      = 8
	EntryHeader   = 4

	// MaxPayload bounds the payload of a frame, MaxEntry one entry, and
	// MaxEntries how many messages a frame can end.
	MaxPayload = 1<<31 - 1
	MaxEntry   = 1<<30 - 1
	MaxEntries = 1<<16 - 1

	// ParkedSize in a frame with status 0 says that the server has stopped to
	// look for requests of this client.
	ParkedSize = 1

	// lastFrame is bit 15 of a result's auxiliary field.
	lastFrame = 1 << 15
	// MaxTime is the longest time that a result can tell, in units of TimeUnit.
	MaxTime = lastFrame - 1
	// TimeUnit is the unit of the time in a result, in nanoseconds.
	TimeUnit = 128
)

// Word0 is the first word of every frame.
type Word0 uint64

// MakeWord0 makes the first word of frame number n.
func MakeWord0(n uint64, size int, aux uint16) Word0 {
	return 1 | Word0(uint32(size)<<1) | Word0(aux)<<32 | Word0(n)<<48
}

// ParkedWord0 is what the slot of frame n says while the server does not look.
func ParkedWord0(n uint64) Word0 { return MakeWord0(n, ParkedSize, 0) &^ 1 }

// Is reports whether this is the first word of frame number n.
func (w Word0) Is(n uint64) bool { return w&1 != 0 && uint16(w>>48) == uint16(n) }

// Parked reports whether the slot of frame n says that the server does not look.
func (w Word0) Parked(n uint64) bool { return w == ParkedWord0(n) }

// Size returns the size of the payload.
func (w Word0) Size() int { return int(uint32(w) >> 1) }

// Aux returns the auxiliary field.
func (w Word0) Aux() uint16 { return uint16(w >> 32) }

// ResultAux makes the auxiliary field of a result frame: nanos is the time that
// the server took, 0 if not measured.
func ResultAux(nanos int64, last bool) uint16 {
	units := (nanos + TimeUnit - 1) / TimeUnit
	aux := uint16(min(max(units, 0), MaxTime))
	if last {
		aux |= lastFrame
	}
	return aux
}

// Last reports whether a result frame is the last of its answer.
func (w Word0) Last() bool { return w.Aux()&lastFrame != 0 }

// Nanos returns the time that the server took, 0 if not measured.
func (w Word0) Nanos() int64 { return int64(w.Aux()&^lastFrame) * TimeUnit }

// Word1 is the second word of a request frame.
type Word1 struct {
	Taken   uint32
	Class   uint8
	Flags   uint8
	Entries uint16
}

// Pack returns the word.
func (w Word1) Pack() uint64 {
	return uint64(w.Taken) | uint64(w.Class)<<32 | uint64(w.Flags)<<40 | uint64(w.Entries)<<48
}

// UnpackWord1 is the inverse of Pack.
func UnpackWord1(v uint64) Word1 {
	return Word1{Taken: uint32(v), Class: uint8(v >> 32), Flags: uint8(v >> 40), Entries: uint16(v >> 48)}
}

// Tail is the tail of frame n where frames do not prove themselves.
func Tail(n uint64) uint64 { return n*0x9E3779B97F4A7C15 ^ 0x6172_6F6D_6572_4152 }

// Proof is the tail of frame n where they do. w is its word 0, and rest its other word, if it has
// one, and its entries.
func Proof(n uint64, w Word0, rest []byte) uint64 {
	return Tail(n)&^math.MaxUint32 | xxh3.HashSeed(rest, uint64(w))&math.MaxUint32
}

// MayEnd reports whether a word can be the tail of frame n.
func MayEnd(tail, n uint64, proof bool) bool {
	if proof {
		return tail>>32 == Tail(n)>>32
	}
	return tail == Tail(n)
}

// TailOffset is where the tail of a request frame lies.
func TailOffset(size int) int { return (RequestHeader + size + 7) &^ 7 }

// RequestBytes is the length of a whole request frame.
func RequestBytes(size int) int { return TailOffset(size) + TailSize }

// ResultBytes is the length of a result frame without its tail.
func ResultBytes(size int) int { return ResultHeader + size }

// SealRequest completes the request frame in b, whose entries are in place, and
// returns its length.
func SealRequest(b []byte, n uint64, size int, aux uint16, w Word1, proof bool) int {
	w0 := MakeWord0(n, size, aux)
	binary.LittleEndian.PutUint64(b, uint64(w0))
	binary.LittleEndian.PutUint64(b[8:], w.Pack())
	at, tail := TailOffset(size), Tail(n)
	clear(b[RequestHeader+size : at])
	if proof {
		tail = Proof(n, w0, b[8:RequestHeader+size])
	}
	binary.LittleEndian.PutUint64(b[at:], tail)
	return at + TailSize
}

// ResultTail is where the tail of a result frame lies, if it has one.
func ResultTail(size int) int { return (ResultHeader + size + 7) &^ 7 }

// TailedBytes is the length of a result frame with its tail.
func TailedBytes(size int) int { return ResultTail(size) + TailSize }
