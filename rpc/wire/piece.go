package wire

import "encoding/binary"

// Bulk marks an entry that is not data but a Piece: where the data lies.
const Bulk = More | Failure

// PieceSize is the length of an entry that is a Piece.
const PieceSize = 16

// Piece says where a piece of a message lies in the bulk area of its direction.
// Pieces of a message follow one another, in frames of their own but for the
// last one.
type Piece struct {
	At, Size uint32 // in the area
	Total    uint32 // bytes of the message: the sum of all its pieces
	More     bool   // the message goes on in the next piece
}

const pieceMore = 1

// Put writes the piece into b, which has at least PieceSize bytes.
func (p Piece) Put(b []byte) {
	le := binary.LittleEndian
	le.PutUint32(b, p.At)
	le.PutUint32(b[4:], p.Size)
	le.PutUint32(b[8:], p.Total)
	flags := uint32(0)
	if p.More {
		flags = pieceMore
	}
	le.PutUint32(b[12:], flags)
}

// ParsePiece reads a piece and checks that it lies in an area of this length.
func ParsePiece(b []byte, area int) (p Piece, ok bool) {
	if len(b) != PieceSize {
		return Piece{}, false
	}
	le := binary.LittleEndian
	p = Piece{At: le.Uint32(b), Size: le.Uint32(b[4:]), Total: le.Uint32(b[8:]), More: le.Uint32(b[12:]) == pieceMore}
	inside := p.Size != 0 && uint64(p.At)+uint64(p.Size) <= uint64(area)
	return p, inside && le.Uint32(b[12:])&^pieceMore == 0
}
