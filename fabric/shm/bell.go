package shm

import "github.com/remora-kv/remora/fabric/internal/direct"

// peerBell is the writing end of a peer's bell.
type peerBell struct{ fd int }

// Ring implements direct.Bell.
func (b peerBell) Ring() { direct.RingFD(b.fd) }

// shareBells returns descriptors of a queue pair's own bells, for receives and
// for sends, to be handed to a peer and closed.
func shareBells(q *direct.QP) ([]int, error) {
	recv, err := q.RecvBell().Share()
	if err != nil {
		return nil, err
	}
	send, err := q.SendBell().Share()
	if err != nil {
		closeFDs([]int{recv})
		return nil, err
	}
	return []int{recv, send}, nil
}
