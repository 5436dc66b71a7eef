package rfp

import "github.com/remora-kv/remora/internal/fence"

// aim says where a result of n bytes is to be, if pieces can be looked at.
func (b *bulk) aim(n int) {
	b.target, b.lent = nil, false
	if b.viewer == nil {
		return
	}
	if b.room != nil {
		b.target = b.room(n)
	}
	if b.lent = b.target != nil; !b.lent {
		b.target = b.ownRoom(n)
	}
}

// ownRoom is memory for n bytes of a result. That of one that was very long is not kept.
func (b *bulk) ownRoom(n int) []byte {
	if cap(b.own) > max(n, keepLarge) {
		b.own = nil
	}
	b.own = grow(b.own, n)
	return b.own[:n]
}

// aimLanding has the result go on where READs can bring it.
func (c *Conn) aimLanding(total int) error {
	if err := c.needLanding(total); err != nil {
		return err
	}
	b := &c.bulk
	if b.target != nil {
		copy(b.landing.Bytes(), b.target[:b.arrived])
	}
	b.target, b.lent = nil, false
	return nil
}

// leave gives back what room returned, if anything: the result goes on in memory of its own.
func (b *bulk) leave() {
	if !b.lent {
		return
	}
	to := b.ownRoom(len(b.target))
	copy(to, b.target[:b.arrived])
	b.target, b.lent = to, false
}

// lookAtPiece copies a piece from where it is to where it is to be, and reports whether it could.
func (c *Conn) lookAtPiece() bool {
	b := &c.bulk
	from, ok := b.viewer.View(c.pieceFrom(&b.piece), int(b.piece.Size))
	if ok {
		fence.CopyIn(b.target[b.arrived:b.arrived+len(from)], from)
		c.pieceCame()
	}
	return ok
}

// Land implements driver.Lander.
func (d *Driven) Land(room func(n int) []byte) { d.bulk.room = room }

// Leave implements driver.Lander.
func (d *Driven) Leave() { d.bulk.leave() }
