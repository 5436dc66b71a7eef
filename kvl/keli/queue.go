package keli

import "github.com/remora-kv/remora/kvl"

// queue is a FIFO of links. Its blocks come from a pool and return to it when they are empty, so
// that the next level of a walk uses the blocks of the one before.
type queue struct {
	pool        *blocks
	first, last *block
	at          int // next link of first
	count       int
}

// blockLinks is the number of links in a block.
const blockLinks = 1024

// block is a part of a queue.
type block struct {
	next  *block
	used  int
	links [blockLinks]kvl.Link
}

// blocks is a pool of unused blocks.
type blocks struct{ free *block }

// room returns memory behind the last link for at least n links; n is at most blockLinks.
func (q *queue) room(n int) []kvl.Link {
	if q.last == nil || q.last.used+n > blockLinks {
		q.grow()
	}
	return q.last.links[q.last.used:]
}

func (q *queue) grow() {
	b := q.pool.free
	if b == nil {
		b = new(block)
	} else {
		q.pool.free = b.next
	}
	b.next, b.used = nil, 0
	if q.last == nil {
		q.first, q.at = b, 0
	} else {
		q.last.next = b
	}
	q.last = b
}

// filled adds the first n links that were written to the result of room.
func (q *queue) filled(n int) {
	q.last.used += n
	q.count += n
}

// push adds a link.
func (q *queue) push(l kvl.Link) {
	q.room(1)[0] = l
	q.filled(1)
}

// pop takes the first link of a queue that is not empty.
func (q *queue) pop() kvl.Link {
	for q.at == q.first.used {
		q.dropFirst()
	}
	l := q.first.links[q.at]
	q.at++
	q.count--
	return l
}

// dropFirst returns the first block to the pool.
func (q *queue) dropFirst() {
	b := q.first
	q.first, q.at = b.next, 0
	b.next, q.pool.free = q.pool.free, b
}

// clear removes all links, and returns the blocks to the pool.
func (q *queue) clear() {
	for q.first != nil {
		q.dropFirst()
	}
	*q = queue{pool: q.pool}
}
