package wire

import "encoding/binary"

// Bulk marks an entry that is not data but a Piece: where the data lies. Or it is an Area.
const Bulk = More | Failure

// PieceSize is the length of an entry that is a Piece, or an Area.
const PieceSize = 20

// Piece says where a piece of a message lies in the bulk area of its direction.
// Pieces of a message follow one another, in frames of their own but for the
// last one.
type Piece struct {
	At, Size uint32 // in the area
	Total    uint32 // bytes of the message: the sum of all its pieces
	More     bool   // the message goes on in the next piece
	// Sum is the CRC-32C of the bytes of a piece of a request, where frames prove themselves.
	Sum uint32
}

// The flags of a Piece, and those that make the entry an Area.
const (
	pieceMore   = 1
	requestArea = 2
	resultArea  = 4
)

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
	le.PutUint32(b[16:], p.Sum)
}

// ParsePiece reads a piece and checks that it lies in an area of this length.
func ParsePiece(b []byte, area int) (p Piece, ok bool) {
	if len(b) != PieceSize {
		return Piece{}, false
	}
	le := binary.LittleEndian
	p = Piece{At: le.Uint32(b), Size: le.Uint32(b[4:]), Total: le.Uint32(b[8:]), More: le.Uint32(b[12:]) == pieceMore, Sum: le.Uint32(b[16:])}
	inside := p.Size != 0 && uint64(p.At)+uint64(p.Size) <= uint64(area)
	return p, inside && le.Uint32(b[12:])&^pieceMore == 0
}

// Area says where the bulk area of a direction lies. The welcome says how long it is.
type Area struct {
	Place   Place
	Results bool // the direction: results, or requests
}

// Put writes the area into b, which has at least PieceSize bytes.
func (a Area) Put(b []byte) {
	flags := uint32(requestArea)
	if a.Results {
		flags = resultArea
	}
	le := binary.LittleEndian
	le.AppendUint32(le.AppendUint32(appendPlace(b[:0], a.Place), flags), 0)
}

// ParseArea reads an area, and reports whether the entry is one.
func ParseArea(b []byte) (a Area, ok bool) {
	if len(b) != PieceSize {
		return Area{}, false
	}
	flags := binary.LittleEndian.Uint32(b[12:])
	return Area{Place: placeAt(b), Results: flags == resultArea}, flags == requestArea || flags == resultArea
}
