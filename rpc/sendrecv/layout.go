package sendrecv

import "encoding/binary"

// headerSize is the length of the header of every message; see the package doc.
const headerSize = 8

// Limits of what ends agree on.
const (
	minMessage     = 64 // so that a failure says something
	maxMessage     = 64 << 10
	defaultMessage = 1 << 10
	maxWindow      = 1024
	maxCores       = 1024
	lineSize       = 64
)

// kind is the kind of a SEND.
type kind uint8

const (
	kindRequest kind = 1 + iota
	kindResult
	kindFailure
	kindReady
)

// header is the beginning of a SEND.
type header struct {
	number uint32
	kind   kind
}

// put writes the header into the first bytes of b.
func (h header) put(b []byte) {
	binary.LittleEndian.PutUint64(b, uint64(h.number)|uint64(h.kind)<<32)
}

// parseHeader reads the header of a SEND; false when it is none.
func parseHeader(b []byte) (h header, ok bool) {
	if len(b) < headerSize {
		return h, false
	}
	w := binary.LittleEndian.Uint64(b)
	return header{number: uint32(w), kind: kind(w >> 32)}, w>>40 == 0
}

// dimensions are what both ends have agreed on.
type dimensions struct{ window, message int }

// receives is how many there are at each end (S1).
func (d *dimensions) receives() int { return d.window + 1 }

// sendBytes is the longest SEND.
func (d *dimensions) sendBytes() int { return headerSize + d.message }

// stride is the distance of places: whole lines.
func (d *dimensions) stride() int { return roundUp(d.sendBytes(), lineSize) }

// receiveAt is where the place of message number n that is received lies (S4), sendAt that
// of one that is sent.
func (d *dimensions) receiveAt(n uint64) int { return int(n%uint64(d.receives())) * d.stride() }

func (d *dimensions) sendAt(n uint64) int {
	return (d.receives() + int(n%uint64(d.window))) * d.stride()
}

// bytes is the memory of one end.
func (d *dimensions) bytes() int { return (d.receives() + d.window) * d.stride() }

// signalEvery is in how many SENDs one is signaled, and sendDepth the length of a send
// queue: as many as are in flight, as many whose completions are late, and those until
// the next completion.
func (d *dimensions) signalEvery() int { return max(d.window/2, 1) }

func (d *dimensions) sendDepth() int { return 2*d.window + d.signalEvery() }

func roundUp(n, to int) int { return (n + to - 1) / to * to }
