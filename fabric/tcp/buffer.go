package tcp

import (
	"slices"
	"sync"
)

const (
	// window is how many bytes of responses a peer may have asked for and not
	// yet received. They are all buffered here, so that no request has to wait
	// for the socket to take a response (I2).
	window = 256 << 10
	// maxRequests bounds the bytes of own requests in the out-buffer.
	maxRequests = 4 * (maxFragment + remoteSize)
	// maxOut is what the out-buffer holds at most: that, and one ACK, one
	// PROBE and one BYE or NAK.
	maxOut = window + maxRequests + 4*headSize

	// maxPeerWindow is more than any peer's window is used.
	maxPeerWindow = 1 << 24

	// readSize is the size of the memory that a thread reads sockets into.
	readSize = 64 << 10
)

// outSizes are the sizes of the memory of out-buffers: for small messages, for some of them,
// and for all that there can be.
var outSizes = [...]int{4 << 10, 32 << 10, maxOut}

// outPool lends the memory of out-buffers. What nobody has is the collector's to free, so that
// a burst leaves nothing behind.
type outPool struct{ bySize [len(outSizes)]sync.Pool } // of *outMemory

type outMemory struct{ b []byte }

// lend returns memory for n bytes: at most maxOut, unless the peer breaks the protocol.
func (p *outPool) lend(n int) *outMemory {
	for i, size := range outSizes {
		if n <= size {
			if m, ok := p.bySize[i].Get().(*outMemory); ok {
				return m
			}
			return &outMemory{make([]byte, size)}
		}
	}
	return &outMemory{make([]byte, n)}
}

// takeBack takes memory that lend returned.
func (p *outPool) takeBack(m *outMemory) {
	if i := slices.Index(outSizes[:], len(m.b)); i >= 0 {
		p.bySize[i].Put(m)
	}
}

// outBuffer holds frames for the socket, always whole ones at the
// end. It has memory of the pool while there is something in it, up to maxOut.
type outBuffer struct {
	pool   *outPool
	memory *outMemory
	b      []byte // of memory
	// b[r:w] waits for the socket.
	r, w int
	// sent counts bytes that were handed to the kernel since the beginning;
	// mark is the count at which the last request will be gone, round the
	// bytes of requests since the buffer was last free of them.
	sent, mark uint64
	round      int
}

func (o *outBuffer) pending() int { return o.w - o.r }

// extend appends n bytes and returns them for writing.
func (o *outBuffer) extend(n int) []byte {
	if len(o.b)-o.w < n {
		o.makeRoom(n)
	}
	b := o.b[o.w : o.w+n : o.w+n]
	o.w += n
	return b
}

func (o *outBuffer) makeRoom(n int) {
	live := o.w - o.r
	if len(o.b) >= live+n {
		copy(o.b, o.b[o.r:o.w])
	} else {
		m := o.pool.lend(live + n)
		copy(m.b, o.b[o.r:o.w])
		o.giveBack()
		o.memory, o.b = m, m.b
	}
	o.r, o.w = 0, live
}

func (o *outBuffer) giveBack() {
	if o.memory != nil {
		o.pool.takeBack(o.memory)
		o.memory, o.b = nil, nil
	}
}

// drop forgets what waits for the socket.
func (o *outBuffer) drop() {
	o.giveBack()
	*o = outBuffer{pool: o.pool}
}

// handOver returns the buffer for another to empty, and leaves an empty one.
func (o *outBuffer) handOver() outBuffer {
	all := *o
	*o = outBuffer{pool: o.pool}
	return all
}

// admits reports whether a request of n bytes may be appended. Requests come in
// rounds of at most maxRequests, and a round begins when the last one is gone:
// so responses are never shut out by requests, nor requests by responses.
func (o *outBuffer) admits(n int) bool {
	if o.sent >= o.mark {
		o.round = 0
	}
	return o.round+n <= maxRequests
}

// request appends n bytes of a request that was admitted.
func (o *outBuffer) request(n int) []byte {
	b := o.extend(n)
	o.round += n
	o.mark = o.sent + uint64(o.w-o.r)
	return b
}

// consume removes n bytes from the front.
func (o *outBuffer) consume(n int) {
	o.r += n
	o.sent += uint64(n)
	if o.r == o.w {
		o.giveBack()
		o.r, o.w = 0, 0
	}
}

// before reports whether sequence number a comes before b.
func before(a, b uint32) bool { return int32(a-b) < 0 }
