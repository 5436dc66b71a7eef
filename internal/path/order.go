package path

import "github.com/remora-kv/remora/internal/command"

// pendingGets knows which keys a small connection is getting. A get whose result does not fit
// is repeated after operations that were sent later have happened, so no change of its key is
// sent before its result has arrived. A nil *pendingGets admits everything.
type pendingGets struct {
	hashes       []uint64 // ring: one for each operation without a result, 0 for those that are not gets
	first, count int
}

// admit reports whether an operation can be sent.
func (g *pendingGets) admit(op command.Proc, hash uint64) bool {
	if g == nil || op == command.Get {
		return true
	}
	for i := range g.count {
		if g.hashes[g.at(i)] == hash|1 {
			return false
		}
	}
	return true
}

func (g *pendingGets) at(i int) int {
	if i += g.first; i >= len(g.hashes) {
		i -= len(g.hashes)
	}
	return i
}

// sent notes an operation that was sent.
func (g *pendingGets) sent(op command.Proc, hash uint64) {
	if g == nil {
		return
	}
	if hash |= 1; op != command.Get {
		hash = 0
	}
	g.hashes[g.at(g.count)] = hash
	g.count++
}

// taken notes that the result of the oldest operation was taken.
func (g *pendingGets) taken() {
	if g != nil {
		g.first = g.at(1)
		g.count--
	}
}

// query is an operation in flight: what was asked for, and the hash of its key. The answer to
// the zero query says nothing about links.
type query struct {
	hash uint64
	op   command.Proc
}

// queries is a queue of them.
type queries struct {
	ring         []query // its length is a power of two, or 0
	first, count int
}

func (h *queries) push(q query) {
	if h.count == len(h.ring) {
		bigger := make([]query, max(2*len(h.ring), 16))
		for i := range h.count {
			bigger[i] = h.ring[(h.first+i)&(len(h.ring)-1)]
		}
		h.ring, h.first = bigger, 0
	}
	h.ring[(h.first+h.count)&(len(h.ring)-1)] = q
	h.count++
}

// pop returns the oldest, a zero one if there is none.
func (h *queries) pop() query {
	if h.count == 0 {
		return query{}
	}
	q := h.ring[h.first]
	h.first = (h.first + 1) & (len(h.ring) - 1)
	h.count--
	return q
}
