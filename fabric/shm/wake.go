package shm

import (
	"github.com/remora-kv/remora/fabric/internal/base"
	"github.com/remora-kv/remora/fabric/internal/direct"
)

// peerPipe is the writing end of a peer's wake pipe.
type peerPipe struct{ fd int }

// Wake implements base.Waker.
func (p peerPipe) Wake() { base.WakeFD(p.fd) }

// sharePipes returns descriptors of a queue pair's own wake pipes, for receives
// and for sends, to be handed to a peer and closed.
func sharePipes(q *direct.QP) ([]int, error) {
	recv, err := q.RecvPipe().Share()
	if err != nil {
		return nil, err
	}
	send, err := q.SendPipe().Share()
	if err != nil {
		closeFDs([]int{recv})
		return nil, err
	}
	return []int{recv, send}, nil
}
