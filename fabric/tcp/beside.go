package tcp

import (
	"net"

	"github.com/remora-kv/remora/internal/affinity"
)

// besideLooks is at how many queue pairs a waiter looks, in turn, behind the one whose peer was on its
// CPU. A look is a system call.
const besideLooks = 2

// places remembers where a waiter has found peers.
type places struct {
	near int // the queue pair whose peer was on the CPU of the waiter's owner
	next int // the one that is looked at next
}

// Beside implements base.Peers. Where a peer runs nobody has to tell: the kernel knows on which CPU
// a socket received last, and on one host that is where the peer sent.
func (w *waiter) Beside() bool {
	cpu, found := affinity.Here().CPU(), false
	for i, c := range w.cqs {
		members, p := *c.port.members.Load(), &w.places[i]
		found = found || p.near < len(members) && members[p.near].member.on(cpu)
		for range min(besideLooks, len(members)) {
			if found {
				break
			}
			if p.next++; p.next >= len(members) {
				p.next = 0
			}
			if members[p.next].member.on(cpu) {
				p.near, found = p.next, true
			}
		}
	}
	return found
}

// Yield implements base.Peers.
func (w *waiter) Yield() { affinity.Yield() }

// on implements member.
func (q *conn) on(cpu int) bool {
	if !q.local || !q.mu.TryLock() {
		return false
	}
	defer q.mu.Unlock()
	return q.fd >= 0 && lastCPU(q.fd) == cpu
}

// on implements member: nobody knows whom the next datagram comes from.
func (q *gram) on(int) bool { return false }

// sameHost reports whether both ends of a connection are on one host.
func sameHost(a, b net.Addr) bool {
	x, ok1 := a.(*net.TCPAddr)
	y, ok2 := b.(*net.TCPAddr)
	return ok1 && ok2 && x.IP.Equal(y.IP)
}
