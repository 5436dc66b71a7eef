package tcp

import "github.com/remora-kv/remora/fabric/internal/base"

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

	firstOut = 4 << 10
	firstIn  = 16 << 10
	maxIn    = 256 << 10
)

// outBuffer holds frames for the socket, always whole ones at the
// end. It grows as needed, up to maxOut.
type outBuffer struct {
	b []byte
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
	to := o.b
	if len(to) < live+n {
		to = make([]byte, base.CeilPow2(max(live+n, firstOut)))
	}
	copy(to, o.b[o.r:o.w])
	o.b, o.r, o.w = to, 0, live
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
		o.r, o.w = 0, 0
	}
}

// inBuffer holds what was read and not yet understood.
type inBuffer struct {
	b    []byte
	r, w int
}

// space returns the free part of the buffer.
func (i *inBuffer) space() []byte {
	if i.b == nil {
		i.b = make([]byte, firstIn)
	}
	return i.b[i.w:]
}

// settle moves what is left to the front; full says that the last read filled
// the buffer, so that a larger one is worth it.
func (i *inBuffer) settle(full bool) {
	if i.r == i.w {
		i.r, i.w = 0, 0
	}
	to := i.b
	if full && len(i.b) < maxIn {
		to = make([]byte, 2*len(i.b))
	} else if i.r == 0 {
		return
	}
	i.w = copy(to, i.b[i.r:i.w])
	i.b, i.r = to, 0
}

// before reports whether sequence number a comes before b.
func before(a, b uint32) bool { return int32(a-b) < 0 }
