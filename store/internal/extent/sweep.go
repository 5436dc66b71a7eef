package extent

import "github.com/remora-kv/remora/internal/fence"

// Table has the functions of the table that owns a Heap, by which the Heap empties blocks.
type Table struct {
	// Item returns how much of a block in use is needed, and when the item there expires,
	// 0 for never.
	Item func(block uint64) (size uint64, expires int64)
	// Spare reports whether the item of a block was used, and has it count as used less, or
	// no more. It is called for caches only.
	Spare func(block uint64) bool
	// Unlink takes the item of a block out of the index and the counts. The block stays in
	// use.
	Unlink func(block uint64)
	// Moved has the index lead to a block with the same bytes in place of another.
	Moved func(from, to uint64)
}

const (
	// expiryBlocks is how many blocks reclaim looks at for items that have expired.
	expiryBlocks = 64
	// sweeps is how many places reclaim tries to clear.
	sweeps = 16
	// spares is how many used items in a row evict passes.
	spares = 16
)

// MakeRoom makes a block of need bytes, at most Largest, for an item of this key and value,
// and takes it: by eviction in a cache, by reclaiming what has expired and moving what is in
// the way in a store. Only a store may fail; then it returns 0.
//
// Items are moved to memory that was freed and that a view may still show. So none is moved
// if the key or the value is a view.
func (h *Heap) MakeRoom(need uint64, now int64, key, value []byte) uint64 {
	move := !h.Holds(key) && !h.Holds(value)
	if h.Caches() {
		return h.evict(need, now, move)
	}
	return h.reclaim(need, now, move)
}

// evict clears blocks until there is a block of need bytes, at most Largest, and takes it.
// It spares items that were used: it passes those that follow the hand, and moves those in
// the way if it may. It cannot fail, since all of the memory could become one block.
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

// reclaim makes a block of need bytes without losing an item, and takes it: where items
// have expired, or where others can be moved away, if they may be. It returns 0 if it finds
// none.
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

// wrap returns the block at the hand, which goes back to the first one from the end.
func (h *Heap) wrap() uint64 {
	if h.hand == h.end {
		h.hand = h.first
	}
	return h.hand
}

// expireNext frees the items among the next blocks that have expired, until a block of need
// bytes is there, and takes it.
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
// block that they have become. It returns 0 if it came to an item that had to stay, or to
// the end of the memory; then the hand is behind that.
//
// While the block grows it is in use and nothing leads to it, so that what is freed
// meanwhile does not join it and nothing is moved into it.
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

// clear makes a block one in use that nothing leads to, and reports whether it could.
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

// empty takes the item of a block out of the index, or moves it to another block, and
// reports whether it could: a cache always can.
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

// expire takes the item of a block out of the index if it has expired, and reports whether it
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

// Move moves the item of a block to another one, and reports whether there was one. Nothing
// leads to the old block then; it stays in use.
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
