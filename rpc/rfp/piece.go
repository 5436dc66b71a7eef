package rfp

import (
	"fmt"
	"slices"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/crc32c"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/wire"
)

// bulk is the part of a Conn that moves pieces. Its memory is made when it is
// first needed.
type bulk struct {
	placer  fabric.Placer    // the queue pair, if it is one
	stage   *fabric.Region   // an area from which pieces are written to the server
	viewer  fabric.Viewer    // the queue pair, if it is one
	room    func(int) []byte // returns memory of the caller for a long result; may be nil
	own     []byte           // memory for results that are looked at, and wanted nowhere else
	target  []byte           // where the result is copied to: what room returned, or own; nil: it is READ
	lent    bool             // target is what room returned
	landing *fabric.Region   // a long result, READ piece by piece
	arrived int              // bytes of it that are there
	piece   wire.Piece       // that is being fetched, or was
	flying  bool             // its READ is in flight
	here    bool             // it has come
}

// needStage makes sure of memory from which pieces are written, where they always are.
func (c *Conn) needStage() error {
	if c.out.size == 0 || c.bulk.placer != nil {
		return nil
	}
	return c.makeStage()
}

func (c *Conn) makeStage() (err error) {
	if c.bulk.stage == nil {
		c.bulk.stage, err = c.end.Domain.Alloc("rfp pieces", c.rings.bulk, 0)
	}
	return err
}

// needLanding makes sure of memory for a result. Sizes are rounded up, so that
// they seldom change.
func (c *Conn) needLanding(total int) (err error) {
	old := c.bulk.landing
	if old != nil && old.Len() >= total {
		return nil
	}
	size := c.rings.bulk
	for size < total {
		size *= 2
	}
	if c.bulk.landing, err = c.end.Domain.Alloc("rfp long result", size, 0); err != nil {
		c.bulk.landing = old
		return err
	}
	if old != nil {
		return old.Close()
	}
	return nil
}

// longResult is the result that has come in pieces, until the next one comes.
func (c *Conn) longResult() []byte {
	b := &c.bulk
	n, all := b.arrived, b.target
	b.arrived, b.here, c.pieced = 0, false, true
	if b.target, b.lent = nil, false; all == nil {
		all = b.landing.Bytes()
	}
	return all[:n:n]
}

// writePiece writes the next piece of a message into the server's memory, to be
// named by a frame. It returns the length of the piece, 0 when there is no room.
// The frame follows on the same queue pair, so the piece is there before it, or the frame has its sum.
func (c *Conn) writePiece(msg message) (n int, err error) {
	n = c.rings.nextPiece(msg.len())
	at, ok := c.out.take(n, c.out.size)
	if !ok {
		return 0, nil
	}
	if !c.placePiece(msg, n, at) {
		if err := c.postPiece(msg, n, at); err != nil {
			return 0, err
		}
	}
	p := &c.named[c.names]
	if *p = pieceAt(at, n, c.largeTotal, n < msg.len()); c.rings.proof {
		p.Sum = msg.sum(n)
	}
	c.names++
	return n, nil
}

// pieceTo is the place in the area for requests.
func (c *Conn) pieceTo(at int) fabric.Remote { return c.areas.requests.At(at) }

// placePiece writes a piece from where its message is, and reports whether it could.
func (c *Conn) placePiece(msg message, n, at int) bool {
	p, k := c.bulk.placer, min(n, len(msg.head))
	return p != nil && (k == 0 || p.Place(c.pieceTo(at), msg.head[:k])) && (k == n || p.Place(c.pieceTo(at+k), msg.body[:n-k]))
}

// postPiece writes a piece by way of memory that the fabric knows.
func (c *Conn) postPiece(msg message, n, at int) error {
	if err := c.makeStage(); err != nil {
		c.end.Fail(fmt.Errorf("no memory for a message of %d bytes: %w", c.largeTotal, err))
		return c.end.Err
	}
	msg.copyTo(c.bulk.stage.Bytes()[at : at+n])
	return c.postWrite(fabric.WR{ID: kindWrite, Op: fabric.OpWrite, Local: c.bulk.stage.Seg(at, n), Remote: c.pieceTo(at)})
}

// pieceEntry is the length of an entry that names a piece.
const pieceEntry = wire.EntryHeader + wire.PieceSize

// putPiece writes the entry of a piece, and returns its length.
func putPiece(b []byte, p wire.Piece) int {
	wire.PutEntry(b, wire.PieceSize, wire.Bulk)
	p.Put(b[wire.EntryHeader:])
	return pieceEntry
}

// pieceAt is a piece of a message of total bytes.
func pieceAt(at, n, total int, more bool) wire.Piece {
	return wire.Piece{At: uint32(at), Size: uint32(n), Total: uint32(total), More: more}
}

// fetchPiece adds the piece that an entry names to the result, and reports
// whether it is there: otherwise it is in flight, or the connection is over.
func (c *Conn) fetchPiece(entry []byte) bool {
	b := &c.bulk
	switch {
	case b.here:
		return true
	case b.flying:
		return false
	}
	p, ok := wire.ParsePiece(entry, c.rings.resultBulk)
	if !ok || !c.areas.known[ofResults] || !fits(&p, b.arrived, c.MaxMessage()) || len(c.partial) != 0 || b.arrived != 0 && p.Total != b.piece.Total {
		c.malformed()
		return false
	}
	if b.arrived == 0 {
		b.aim(int(p.Total))
	}
	b.piece = p
	if b.target != nil && c.lookAtPiece() {
		return true
	}
	if err := c.aimLanding(int(p.Total)); err != nil {
		c.end.Fail(fmt.Errorf("no memory for a result of %d bytes: %w", p.Total, err))
		return false
	}
	b.flying = true
	_ = c.postOne(fabric.WR{
		ID: kindPiece, Op: fabric.OpRead, Flags: fabric.FlagSignaled,
		Local:  b.landing.Seg(b.arrived, int(p.Size)),
		Remote: c.pieceFrom(&p),
	})
	c.reap()
	return b.here
}

// pieceFrom is the place of a piece in the area for results.
func (c *Conn) pieceFrom(p *wire.Piece) fabric.Remote { return c.areas.results.At(int(p.At)) }

// absorbBulk takes an entry that is an area or a piece, and reports whether to go on behind it.
func (c *Conn) absorbBulk(entry []byte) bool {
	a, ok := wire.ParseArea(entry)
	if !ok {
		return c.absorbPiece(entry)
	}
	if ok = c.learnArea(a); !ok {
		c.malformed()
	}
	return ok
}

// absorbPiece takes a piece after which the result goes on. It reports whether it
// did: otherwise the piece is in flight, or the result is complete.
func (c *Conn) absorbPiece(entry []byte) bool {
	if !c.fetchPiece(entry) {
		c.open, c.held = false, c.end.Err == nil
		return false
	}
	if !c.bulk.piece.More {
		return false
	}
	c.bulk.here, c.pieced = false, true
	return true
}

// pieceHere takes completions while a frame is held, and reports whether its
// piece has come.
func (c *Conn) pieceHere() bool {
	if c.reap(); !c.bulk.here {
		return false
	}
	c.held, c.open = false, true
	return true
}

// pieceCame is called when a piece was READ, or copied.
func (c *Conn) pieceCame() {
	b := &c.bulk
	b.flying, b.here = false, true
	b.arrived += int(b.piece.Size)
	fence.Count(&c.stats.pieces, 1)
}

// fits reports whether a piece can follow the bytes that have come of its message: the total
// is that of all pieces, and not longer than a message may be.
func fits(p *wire.Piece, had, most int) bool {
	total := had + int(p.Size)
	return int(p.Total) <= most && (p.More && total < int(p.Total) || !p.More && total == int(p.Total))
}

// pieceOf is the piece that an entry of a request names; false if it cannot follow what there is
// of the message.
func (c *core) pieceOf(s *session, entry []byte) (p wire.Piece, ok bool) {
	p, ok = wire.ParsePiece(entry, len(s.bulkIn))
	return p, ok && fits(&p, len(s.partial), c.server.cfg.MaxMessage)
}

// collect adds a piece of a request to the message being assembled (I6: it is copied once, and
// then private). It reports false, and adds nothing, while the piece is not there whole.
func (c *core) collect(s *session, p *wire.Piece) bool {
	if s.partial == nil {
		s.partial = c.spares.borrow(int(p.Total))
	}
	n, size := len(s.partial), int(p.Size)
	all := slices.Grow(s.partial, size)[:n+size]
	fence.CopyIn(all[n:], s.bulkIn[p.At:int(p.At)+size])
	if s.rings.proof {
		if crc32c.Checksum(all[n:]) != p.Sum {
			s.partial = all[:n]
			s.doubt.Failed(c.Sweep)
			return false
		}
		s.doubt.Clear()
	}
	s.partial = all
	return true
}

// stream puts a long result into pieces, and what comes after it. While the
// client takes them as they come it is waited for, because the result need not be
// copied elsewhere then; a client that does not has the rest kept for it. The
// entry of the last piece stays in the frame being filled.
func (c *core) stream(s *session, class uint8, res, after []byte) {
	if c.fill != 0 {
		c.flush(s, class, false)
	}
	total := len(res) + len(after)
	c.pushAll = c.pushAll || total > c.server.cfg.PushAbove
	c.start = 0 // how long copies take says nothing about the procedure
	for part := s.rings.resultPart(total); !s.gone; {
		n := s.rings.nextPiece(len(res) + len(after))
		at, ok := c.awaitArea(s, n, part)
		if !ok {
			c.postpone(s, class, total, res, after)
			return
		}
		k := min(n, len(res))
		fence.CopyAcross(s.bulkOut[at:], res[:k])
		fence.CopyOut(s.bulkOut[at+k:], after[:n-k])
		res, after = res[k:], after[n-k:]
		more := len(res)+len(after) != 0
		c.fill = putPiece(c.out, pieceAt(at, n, total, more))
		if !more {
			return
		}
		c.flush(s, class, false)
		c.completions() // or pushes of many long results would run out of places in the queue
	}
}

// roomWait is how long a core waits for a client to take a piece. It is some
// copies of one.
const roomWait = 50 * time.Microsecond

// awaitArea waits for room for a piece and its frame.
func (c *core) awaitArea(s *session, n, part int) (at int, ok bool) {
	if len(s.backlog) != 0 {
		return 0, false
	}
	if s.told() && s.room() {
		if at, ok = s.out.take(n, part); ok {
			return at, true
		}
	}
	if s.skips > 0 {
		s.skips-- // it did not take pieces in time before
		return 0, false
	}
	c.roomFor, c.roomSize, c.roomPart = s, n, part
	if !c.roomWaiter.Wait(c.roomCamef, roomWait) {
		s.waitTimedOut()
		return 0, false
	}
	s.nextSkips = 0
	return s.out.take(n, part)
}

// maxSkips bounds for how many results a core does not wait for a client that did not take pieces
// in time: for none the first time, then for 1, 3, 7 and so on, until the client has taken a piece
// in time. So a client that was interrupted for a moment loses a copy of one result by it, and not
// of dozens.
const maxSkips = 31

// waitTimedOut notes that the client did not take pieces in time.
func (s *session) waitTimedOut() {
	s.skips, s.nextSkips = s.nextSkips, min(2*s.nextSkips+1, maxSkips)
}

// roomCame looks whether there is room for the piece that is waited for.
func (c *core) roomCame() bool {
	s := c.roomFor
	probe := s.out
	_, ok := probe.take(c.roomSize, c.roomPart)
	if !ok || !s.room() {
		if !s.told() {
			return false
		}
		probe = s.out
		_, ok = probe.take(c.roomSize, c.roomPart)
	}
	return ok && s.room()
}

// postpone keeps the rest of a long result until there is room.
func (c *core) postpone(s *session, class uint8, total int, res, after []byte) {
	rest := append(append(c.spares.borrow(len(res)+len(after)), res...), after...)
	s.backlog = append(s.backlog, waitingFrame{
		rest: rest, whole: rest, total: total, push: c.pushAll, class: class, start: c.start,
	})
	s.waiting += len(rest)
	c.slow.Add(s, &s.slowAt)
}

// pour puts pieces of a result that was kept into the area while there is room.
// It reports whether all of it is there.
func (c *core) pour(s *session, f *waitingFrame) bool {
	for !s.gone && s.room() {
		n := s.rings.nextPiece(len(f.rest))
		at, ok := s.out.take(n, s.rings.resultPart(f.total))
		if !ok {
			return false
		}
		fence.CopyAcross(s.bulkOut[at:], f.rest[:n])
		f.rest = f.rest[n:]
		more := len(f.rest) != 0
		putPiece(c.entry[:], pieceAt(at, n, f.total, more))
		c.place(s, &waitingFrame{payload: c.entry[:], last: f.last && !more, push: f.push, class: f.class, start: f.start, bulkEnd: s.out.head})
		if !more {
			return true
		}
	}
	return false
}

// longOf joins a result and the bytes after it, for sessions without an area.
func (c *core) longOf(res, after []byte) []byte {
	if len(after) == 0 {
		return res
	}
	c.joined = append(append(grow(c.joined, len(res)+len(after)), res...), after...)
	return c.joined
}

// tooLong is the failure of a result that no message can hold.
func (c *core) tooLong(n int) error {
	return &rpc.Error{Code: rpc.CodeTooLarge, Text: fmt.Sprintf("the result has %d bytes, allowed are %d", n, c.server.cfg.MaxMessage)}
}
