package rfp

import (
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/wire"
)

// Places in the region for requests.
const (
	modesAt    = 0
	numClasses = 256
	takenAt    = modesAt + numClasses
	choiceAt   = takenAt + 8
	slotsAt    = 512
)

const lineSize = 64

// rings are the dimensions that both ends have agreed on.
type rings struct {
	window, results int  // slots
	payload         int  // bytes of a frame's payload
	bulk            int  // bytes of the area for pieces of long requests, 0 when there are none
	resultBulk      int  // bytes of that for pieces of long results
	proof           bool // frames prove themselves (I11)
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// requestStride and resultStride are the distances of slots: whole lines, so
// that no two slots share one.
func (r *rings) requestStride() int { return roundUp(wire.RequestBytes(r.payload), lineSize) }

func (r *rings) resultStride() int { return roundUp(wire.TailedBytes(r.payload), lineSize) }

func (r *rings) requestBytes() int { return slotsAt + r.window*r.requestStride() }

// pieceSize is the longest piece: several fit the area, so that one is copied out
// while the next is copied in.
func (r *rings) pieceSize() int { return r.bulk / piecesInArea }

const piecesInArea = 4

// nextPiece is how long the next piece of a message is of which so much is left. The last ones
// become shorter, because the other end still copies when the last is there.
func (r *rings) nextPiece(left int) int {
	most := r.pieceSize()
	least := most / 2 &^ (lineSize - 1)
	switch {
	case left >= 2*most:
		return most
	case left <= least+least/2:
		return left
	}
	return min(left, max(min(left/2, most)&^(lineSize-1), least, lineSize))
}

// resultPart is the length of the part of the area for results that pieces of a message of
// total bytes go to.
func (r *rings) resultPart(total int) int {
	if total <= r.bulk {
		return r.bulk
	}
	return r.resultBulk
}

// resultBulkOf is the length of the area for results, where that for requests has bulk bytes. A
// server writes the area round and round, and writes a line faster if it has left the client's
// cache meanwhile. So the area is longer where CPUs exchange lines, and where memory that is
// not touched costs nothing.
func resultBulkOf(bulk int, lim fabric.Limits) int {
	if lim.Mapped {
		return resultAreas * bulk
	}
	return bulk
}

// resultAreas keeps the area shorter than a huge page, all of which would be allocated.
const resultAreas = 7

// fetchedBytes is how much of a result frame a client has to READ.
func (r *rings) fetchedBytes(size int) int {
	if r.proof {
		return wire.TailedBytes(size)
	}
	return wire.ResultBytes(size)
}

func (r *rings) resultBytes() int { return r.results * r.resultStride() }

// requestAt and resultAt are where frame n lies in its ring.
func (r *rings) requestAt(n uint64) int {
	return slotsAt + int((n-1)%uint64(r.window))*r.requestStride()
}

func (r *rings) resultAt(n uint64) int { return int((n-1)%uint64(r.results)) * r.resultStride() }

func placeOf(r fabric.Remote) wire.Place { return wire.Place{Addr: r.Addr, Key: r.Key} }

func remoteOf(p wire.Place) fabric.Remote { return fabric.Remote{Addr: p.Addr, Key: p.Key} }
