package herd

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// Parts of a slot and of a reply; see the package doc.
const (
	trailerSize = 24 // length, keyhash, stamp
	headerSize  = 16 // of a reply

	lengthAt  = -24 // from the end of a slot
	keyhashAt = -16
	stampAt   = -8
)

// Limits of what ends agree on.
const (
	minSlot     = 128
	maxSlot     = 4096
	defaultSlot = 1024
	maxWindow   = 64 // bits of the mask of a wake-up
	maxCores    = 1024
	lineSize    = 64
)

const (
	numberBits = 40
	numberMask = 1<<numberBits - 1
	maxGen     = 1<<(64-numberBits) - 1
)

// stampOf makes the stamp of a request.
func stampOf(generation uint32, number uint64) uint64 {
	return uint64(generation)<<numberBits | number&numberMask
}

// kind is the kind of a reply.
type kind uint8

const (
	kindResult kind = iota
	kindFailure
	kindWelcome
	kindParked
)

// lengthWord is the word before the keyhash: the length of a message, and where requests prove
// themselves 32 bits of the hash of the message, with the stamp as the seed.
func lengthWord(msg []byte, stamp uint64, proof bool) uint64 {
	w := uint64(len(msg))
	if proof {
		w |= xxh3.HashSeed(msg, stamp) << 32
	}
	return w
}

// header is the beginning of a reply.
type header struct {
	stamp uint64
	core  uint16
	kind  kind
}

// put writes the header into the first bytes of b.
func (h header) put(b []byte) {
	binary.LittleEndian.PutUint64(b, h.stamp)
	binary.LittleEndian.PutUint64(b[8:], uint64(h.core)|uint64(h.kind)<<16)
}

// parseHeader reads the header of a reply; false when it is none.
func parseHeader(b []byte) (h header, ok bool) {
	if len(b) < headerSize {
		return h, false
	}
	w := binary.LittleEndian.Uint64(b[8:])
	h = header{stamp: binary.LittleEndian.Uint64(b), core: uint16(w), kind: kind(w >> 16)}
	return h, w>>24 == 0 && h.kind <= kindParked
}

// generation and number of a stamp.
func (h header) generation() uint32 { return uint32(h.stamp >> numberBits) }

// dimensions are what both ends have agreed on: the cores, from the first
// one on. Places in memory are counted by core.
type dimensions struct{ first, cores, window, slot int }

// indexOf is the place of a core among them; false when it is not one.
func (d *dimensions) indexOf(core int) (int, bool) {
	i := core - d.first
	return i, i >= 0 && i < d.cores
}

// message is the longest request or result.
func (d *dimensions) message() int { return d.slot - trailerSize }

// slotAt is where a slot for a core lies in the request region, and its image in the
// memory of the client.
func (d *dimensions) slotAt(index, i int) int { return (index*d.window + i) * d.slot }

// requestBytes are all slots of a session.
func (d *dimensions) requestBytes() int { return d.cores * d.window * d.slot }

// replyStride is the distance of places in the reply memory: whole lines.
func (d *dimensions) replyStride() int { return roundUp(headerSize+d.message(), lineSize) }

func (d *dimensions) replyAt(index, i int) int { return (index*d.window + i) * d.replyStride() }

// noticeAt is where a core makes datagrams that are no replies: behind the places.
func (d *dimensions) noticeAt(index int) int { return d.replyAt(d.cores, 0) + index*lineSize }

func (d *dimensions) replyBytes() int { return d.noticeAt(d.cores) }

func roundUp(n, to int) int { return (n + to - 1) / to * to }
