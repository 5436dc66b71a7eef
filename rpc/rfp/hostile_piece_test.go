package rfp_test

import (
	"testing"

	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/rpc/wire"
)

// pieceEntry is an entry that names a piece.
func pieceEntry(p wire.Piece) []byte {
	var b [wire.PieceSize]byte
	p.Put(b[:])
	return entry(b[:], wire.Bulk)
}

const rawArea = 4096

func withArea(_ *rawClient, h *wire.Hello) { h.Bulk = rawArea }

const noPiece = "a piece that is none"

// attacks with pieces of long messages.
var pieceAttacks = []attack{
	{name: "piece without an area", ends: isCut, log: noPiece, do: func(c *rawClient) {
		c.send(pieceEntry(wire.Piece{Size: 10, Total: 10}), one)
	}},
	{name: "piece beyond the area", hello: withArea, ends: isCut, log: noPiece, do: func(c *rawClient) {
		c.send(pieceEntry(wire.Piece{At: rawArea - 9, Size: 10, Total: 10}), one)
	}},
	{name: "piece that wraps", hello: withArea, ends: isCut, log: noPiece, do: func(c *rawClient) {
		c.send(pieceEntry(wire.Piece{At: 1<<32 - 1, Size: 10, Total: 10}), one)
	}},
	{name: "empty piece", hello: withArea, ends: isCut, log: noPiece, do: func(c *rawClient) {
		c.send(pieceEntry(wire.Piece{}), one)
	}},
	{name: "half a piece", hello: withArea, ends: isCut, log: noPiece, do: func(c *rawClient) {
		c.send(entry(make([]byte, wire.PieceSize/2), wire.Bulk), one)
	}},
	{name: "total of four gigabytes", hello: withArea, ends: isCut, log: noPiece, do: func(c *rawClient) {
		c.send(pieceEntry(wire.Piece{Size: 10, Total: 1<<32 - 1, More: true}), one)
	}},
	{name: "total less than the piece", hello: withArea, ends: isCut, log: noPiece, do: func(c *rawClient) {
		c.send(pieceEntry(wire.Piece{Size: 100, Total: 10, More: true}), one)
	}},
	{name: "last piece of more", hello: withArea, ends: isCut, log: noPiece, do: func(c *rawClient) {
		c.send(pieceEntry(wire.Piece{Size: 10, Total: 100}), one)
	}},
	{name: "more pieces than the total", hello: withArea, ends: isCut, log: noPiece, do: func(c *rawClient) {
		first := pieceEntry(wire.Piece{Size: 10, Total: 20, More: true})
		c.send(append(append(first, first...), first...), one)
	}},
	{name: "pieces of a request that never ends", hello: withArea, do: func(c *rawClient) {
		c.send(pieceEntry(wire.Piece{Size: 10, Total: 1 << 20, More: true}), one)
		c.awaitAnswer(1)
	}},
	{name: "a request of zeros in a piece", hello: withArea, do: func(c *rawClient) {
		c.send(pieceEntry(wire.Piece{Size: 100, Total: 100}), one)
		c.awaitAnswer(1)
	}},
}

func TestHostilePieces(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) { r.suffer(t, pieceAttacks, rfp.ServerConfig{}) })
}
