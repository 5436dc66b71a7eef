package extent

import "github.com/remora-kv/remora/internal/fence"

// Table is the functions of the table that owns a Heap, which the Heap calls to empty blocks.
type Table struct {
	// Item returns the length that the item of a block needs, and when the item expires, 0 for
	// never.
	Item func(block uint64) (size uint64, expires int64)
	// Spare reports whether the item of a block was used, and lowers its count of uses. It is
	// called in Cache mode only.
	Spare func(block uint64) bool
	// Unlink removes the item of a block from the index and the counts. The block stays in
	// use.
	Unlink func(block uint64)
	// Moved makes the index point to block to, which holds the bytes of block from.
	Moved func(from, to uint64)
}

const (
	// expiryBlocks is how many blocks reclaim examines for expired items.
	expiryBlocks = 64
	// sweeps is how many places reclaim tries to clear.
	sweeps = 16
	// spares is how many used items in a row evict passes.
	spares = 16
)

// MakeRoom takes a block of at least need bytes, at most Largest, for an item of this key and
// value. A cache evicts; a store reclaims expired items and moves others out of the way, and
// returns 0 if that fails.
//
// An item is moved to free memory, which a view may still show. So MakeRoom moves none if
// the key or the value is a view.
func (h *Heap) MakeRoom(need uint64, now int64, key, value []byte) uint64 {
	move := !h.Holds(key) && !h.Holds(value)
	if h.Caches() {
		return h.evict(need, now, move)
	}
	return h.reclaim(need, now, move)
}

// evict clears blocks until one has need bytes, at most Largest, and takes it. It spares
// used items: it skips those at the hand, and moves others out of the way if move is set. It
// cannot fail, since all of the memory could become one block.
func (h *Heap) evict(need uint64, now int64, move bool) uint64 {
	for range spares {
		at := h.wrap()
		if h.Kind(at) == Free || !h.table.Spare(at) {
			break
		}
		h.Stats.Rescued++
		h.hand = h.Next(at)
	}
	return h.sweep(need, now, move)
}

// reclaim takes a block of need bytes without losing an item: it frees expired items, then
// moves others if move is set. It returns 0 if it finds no place.
func (h *Heap) reclaim(need uint64, now int64, move bool) uint64 {
	if h.Mortal > 0 {
		if off := h.expireNext(need, now); off != 0 {
			return off
		}
	}
	if !move {
		return 0
	}
	for range sweeps {
		if h.free < need {
			return 0
		}
		if off := h.sweep(need, now, move); off != 0 {
			return off
		}
	}
	return 0
}

// wrap returns the block at the hand; a hand at the end goes back to the first block.
func (h *Heap) wrap() uint64 {
	if h.hand == h.end {
		h.hand = h.first
	}
	return h.hand
}

// expireNext frees expired items among the next expiryBlocks blocks, until there is a free
// block of need bytes, and takes it.
func (h *Heap) expireNext(need uint64, now int64) uint64 {
	for range expiryBlocks {
		off := h.wrap()
		if h.Kind(off) != Free && h.expire(off, now) {
			off = h.Give(off)
		}
		if h.Kind(off) == Free && h.Size(off) >= need {
			h.Claim(off)
			return off
		}
		h.hand = h.Next(off)
	}
	return 0
}

// sweep joins the blocks that follow the hand until they have need bytes, and takes the
// result. It returns 0 if it meets an item that has to stay, or the end of the memory, and
// leaves the hand behind it.
//
// While the block grows it is in use and not in the index, so that blocks freed meanwhile do
// not join it and no item is moved into it.
func (h *Heap) sweep(need uint64, now int64, move bool) uint64 {
	if h.end-h.hand < need {
		h.hand = h.first
	}
	piece := h.hand
	if !h.clear(piece, now, move) {
		h.hand = h.Next(piece)
		return 0
	}
	for h.Size(piece) < need {
		next := h.Next(piece)
		if next == h.end {
			h.hand = h.first
			h.Give(piece)
			return 0
		}
		if !h.clear(next, now, move) {
			h.hand = h.Next(next)
			h.Give(piece)
			return 0
		}
		h.Absorb(piece, next)
	}
	h.hand = piece
	return piece
}

// clear takes a block that is free or can be emptied, and reports whether it could.
func (h *Heap) clear(block uint64, now int64, move bool) bool {
	if h.Kind(block) == Free {
		h.Claim(block)
		return true
	}
	if !h.empty(block, now, move) {
		return false
	}
	h.SetKind(block, Taken)
	return true
}

// empty removes the item of a block from the index, or moves it to another block, and
// reports whether it could. In Cache mode it always can.
func (h *Heap) empty(block uint64, now int64, move bool) bool {
	switch {
	case h.expire(block, now):
	case !h.Caches():
		return move && h.Move(block)
	case move && h.table.Spare(block) && h.Move(block):
		h.Stats.Rescued++
	default:
		h.Stats.Evicted++
		h.table.Unlink(block)
	}
	return true
}

// expire removes the item of a block from the index if it has expired, and reports whether it
// did.
func (h *Heap) expire(block uint64, now int64) bool {
	if h.Mortal == 0 {
		return false
	}
	if _, expires := h.table.Item(block); expires == 0 || expires > now {
		return false
	}
	h.Stats.Expired++
	h.table.Unlink(block)
	return true
}

// Move moves the item of a block to another block, and reports whether there was one. The
// old block stays in use, but the index no longer points to it.
func (h *Heap) Move(block uint64) bool {
	size, _ := h.table.Item(block)
	to := h.Take(size)
	if to == 0 {
		return false
	}
	fence.CopyOut(h.mem[to+Head:to+size], h.mem[block+Head:block+size])
	h.Trim(to, size)
	h.table.Moved(block, to)
	return true
}
