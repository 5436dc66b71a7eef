package rfp_test

import (
	"context"
	"errors"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/crc32c"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/rpc/wire"
)

// pieceEntry is an entry that names a piece.
func pieceEntry(p wire.Piece) []byte {
	var b [wire.PieceSize]byte
	p.Put(b[:])
	return entry(b[:], wire.Bulk)
}

// zeros is a piece with its sum, where the area has zeros.
func zeros(p wire.Piece) wire.Piece {
	p.Sum = crc32c.Checksum(make([]byte, p.Size))
	return p
}

// areaEntry is an entry that says where an area is.
func areaEntry(a wire.Area) []byte {
	var b [wire.PieceSize]byte
	a.Put(b[:])
	return entry(b[:], wire.Bulk)
}

const rawArea = 4096

func withArea(_ *rawClient, h *wire.Hello) { h.Bulk = rawArea }

const noPiece = "a malformed piece"

// attacks with pieces of long messages.
var pieceAttacks = []attack{
	{name: "piece without an area", ends: isCut, log: noPiece, do: func(c *rawClient) {
		c.send(pieceEntry(wire.Piece{Size: 10, Total: 10}), one)
	}},
	{name: "piece before there is an area", hello: withArea, ends: isCut, log: noPiece, do: func(c *rawClient) {
		c.send(pieceEntry(wire.Piece{Size: 10, Total: 10}), one)
	}},
	{name: "area of a client", hello: withArea, ends: isCut, log: noPiece, do: func(c *rawClient) {
		c.send(areaEntry(wire.Area{Place: wire.Place{Addr: 1, Key: 2}}), one)
	}},
	{name: "piece beyond the area", hello: withArea, ends: isCut, log: noPiece, do: func(c *rawClient) {
		c.warm()
		c.send(pieceEntry(wire.Piece{At: rawArea - 9, Size: 10, Total: 10}), one)
	}},
	{name: "piece that wraps", hello: withArea, ends: isCut, log: noPiece, do: func(c *rawClient) {
		c.warm()
		c.send(pieceEntry(wire.Piece{At: 1<<32 - 1, Size: 10, Total: 10}), one)
	}},
	{name: "empty piece", hello: withArea, ends: isCut, log: noPiece, do: func(c *rawClient) {
		c.warm()
		c.send(pieceEntry(wire.Piece{}), one)
	}},
	{name: "half a piece", hello: withArea, ends: isCut, log: noPiece, do: func(c *rawClient) {
		c.warm()
		c.send(entry(make([]byte, wire.PieceSize/2), wire.Bulk), one)
	}},
	{name: "total of four gigabytes", hello: withArea, ends: isCut, log: noPiece, do: func(c *rawClient) {
		c.warm()
		c.send(pieceEntry(wire.Piece{Size: 10, Total: 1<<32 - 1, More: true}), one)
	}},
	{name: "total less than the piece", hello: withArea, ends: isCut, log: noPiece, do: func(c *rawClient) {
		c.warm()
		c.send(pieceEntry(wire.Piece{Size: 100, Total: 10, More: true}), one)
	}},
	{name: "last piece of more", hello: withArea, ends: isCut, log: noPiece, do: func(c *rawClient) {
		c.warm()
		c.send(pieceEntry(wire.Piece{Size: 10, Total: 100}), one)
	}},
	{name: "more pieces than the total", hello: withArea, ends: isCut, log: noPiece, do: func(c *rawClient) {
		c.warm()
		first := pieceEntry(zeros(wire.Piece{Size: 10, Total: 20, More: true}))
		c.send(append(append(first, first...), first...), one)
	}},
	{name: "pieces of a request that never ends", hello: withArea, do: func(c *rawClient) {
		c.warm()
		c.send(pieceEntry(zeros(wire.Piece{Size: 10, Total: 1 << 20, More: true})), one)
		c.awaitAnswer(c.number - 1)
	}},
	{name: "a request of zeros in a piece", hello: withArea, do: func(c *rawClient) {
		c.warm()
		c.send(pieceEntry(zeros(wire.Piece{Size: 100, Total: 100})), one)
		c.awaitAnswer(c.number - 1)
	}},
	{name: "a piece that is not what its sum says", hello: withArea, do: func(c *rawClient) {
		c.warm()
		c.send(pieceEntry(wire.Piece{Size: 100, Total: 100, Sum: 1}), one)
	}},
}

func TestHostilePieces(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) { r.suffer(t, pieceAttacks, rfp.ServerConfig{}) })
}

// pieceLies are frames of a server whose pieces make no sense. The last one of each ends the answer.
var pieceLies = map[string][][]byte{
	"beyond the area":      {pieceEntry(wire.Piece{At: rawArea - 9, Size: 10, Total: 10})},
	"that wraps":           {pieceEntry(wire.Piece{At: 1<<32 - 1, Size: 10, Total: 10})},
	"empty":                {pieceEntry(wire.Piece{})},
	"longer than messages": {pieceEntry(wire.Piece{Size: 10, Total: 10_001, More: true})},
	"last of more":         {pieceEntry(wire.Piece{Size: 10, Total: 100})},
	"total that changes":   {firstPiece, pieceEntry(wire.Piece{At: 64, Size: 64, Total: 192})},
	"more than the total":  {firstPiece, firstPiece, firstPiece},
	"and a short result":   {append(firstPiece, entries([]byte("short"))...)},
	"a short result later": {firstPiece, entries([]byte("short"))},
	"and a failure":        {firstPiece, entry([]byte("\x05failed"), wire.Failure)},
	"and a part":           {firstPiece, entry([]byte("part"), wire.More), entries([]byte("end"))},
	"without an end":       {firstPiece},
	"and its area again":   {areaEntry(wire.Area{Results: true})},
	noArea:                 {firstPiece},
}

// noArea is the lie of a server that does not say where its area is.
const noArea = "without an area"

// firstPiece is a piece of 64 bytes of 128.
var firstPiece = pieceEntry(wire.Piece{Size: 64, Total: 128, More: true})

// A server whose pieces make no sense is given up, and the memory of the caller is left alone from then on.
func TestHostilePiecesOfAServer(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.rawServer()
		w := s.goodWelcome()
		w.Bulk, w.ResultBulk = rawArea, rawArea
		s.greet(w.Append(nil))
		r.Addr = s.addr
		for name, frames := range pieceLies {
			s.clear()
			c := r.client(rfp.ConnConfig{Params: rfp.Params{Pinned: true, Mode: rfp.Fetch}})
			qp := <-s.accepted
			if _, err := qp.PostRecv(make([]fabric.RecvWR, 64)); err != nil {
				t.Fatal(err)
			}
			p := c.Go(procEcho, []byte("x"), make([]byte, 0, 256))
			if name != noArea {
				frames = append([][]byte{s.resultArea()}, frames...)
			}
			for i, payload := range frames {
				s.frame(uint64(i+1), payload, i == len(frames)-1)
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			if out, err := p.Wait(ctx); !errors.Is(err, rpc.ErrProtocol) {
				t.Errorf("a piece %s: %q, %v", name, out, err)
			}
			cancel()
			_ = c.Close()
			_ = qp.Close()
		}
	})
}
