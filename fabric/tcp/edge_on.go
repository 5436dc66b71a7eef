//go:build race

package tcp

import (
	"sync"
	"sync/atomic"
)

// What one end of a connection did before it sent is visible to the other end
// after it received: the kernel sees to that, and the race detector cannot see
// the kernel. In race builds both ends therefore share a word for each
// direction when they are in the same process, found by the names of the
// sockets.

var edges sync.Map // name of a direction -> *atomic.Uint32

func edgeNamed(name string) *atomic.Uint32 {
	word, _ := edges.LoadOrStore(name, new(atomic.Uint32))
	return word.(*atomic.Uint32)
}

// edge orders one end of a connection against the other.
type edge struct{ out, in *atomic.Uint32 }

// connEdge is the edge of a TCP socket.
func connEdge(local, remote string) edge {
	return edge{out: edgeNamed(local + ">" + remote), in: edgeNamed(remote + ">" + local)}
}

// gramEdge is the edge of a UDP socket, or to one.
func gramEdge(addr string) edge {
	word := edgeNamed("udp>" + addr)
	return edge{out: word, in: word}
}

// sends is called before something is sent, received after.
func (e edge) sends() {
	if e.out != nil {
		e.out.Add(1)
	}
}

func (e edge) received() {
	if e.in != nil {
		e.in.Load()
	}
}
