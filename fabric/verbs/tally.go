//go:build rdma

package verbs

import (
	"encoding/binary"
	"errors"
	"maps"
	"net"
	"net/netip"

	"github.com/remora-kv/remora/fabric"
)

// No adapter tells a queue pair how many datagrams were dropped for want of a
// receive, and neither end can know alone. So a sender says, when it makes an
// address handle, that it is there, and a receiver whose counters are read asks
// its senders how many datagrams they have sent. Both do so in small UDP packets:
// the port is part of the address of a datagram queue pair. Packets may be lost;
// each holds a total, and nothing but Counters.Dropped depends on them.
//
//	magic u32 'RMUT', version u8, kind u8 (0 total, 1 ask), QP number u32,
//	Q_Key u32, sender u64, datagrams sent u64
const (
	tallyMagic = 0x54554d52
	tallyBytes = 30
	// tallyGreetings is how often a sender says that it is there.
	tallyGreetings = 3
	// tallySenders is how many senders a queue pair keeps apart; more are not
	// counted.
	tallySenders = 4096
)

type tally struct {
	ask       bool
	qpn, qkey uint32
	sender    uint64 // a random number of the address handle
	sent      uint64
}

func (t *tally) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, tallyMagic)
	b = append(b, wireVersion, flag(t.ask))
	b = binary.LittleEndian.AppendUint32(b, t.qpn)
	b = binary.LittleEndian.AppendUint32(b, t.qkey)
	b = binary.LittleEndian.AppendUint64(b, t.sender)
	return binary.LittleEndian.AppendUint64(b, t.sent)
}

func decodeTally(b []byte) (t tally, ok bool) {
	if len(b) != tallyBytes || binary.LittleEndian.Uint32(b) != tallyMagic || b[4] != wireVersion || b[5] > 1 {
		return t, false
	}
	return tally{
		ask: b[5] == 1, qpn: binary.LittleEndian.Uint32(b[6:]), qkey: binary.LittleEndian.Uint32(b[10:]),
		sender: binary.LittleEndian.Uint64(b[14:]), sent: binary.LittleEndian.Uint64(b[22:]),
	}, true
}

// sender is an address handle that leads to a queue pair here.
type sender struct {
	at   netip.AddrPort
	sent uint64
}

// tallies is the device's socket for them.
type tallies struct {
	conn *net.UDPConn
	at   uint16 // its port
	done chan struct{}
}

// openTallies returns the device's socket, made when it is first needed, or nil
// where there can be none. d.mu is held.
func (d *Device) openTallies() *tallies {
	if d.tallies != nil || d.noTallies || d.closed {
		return d.tallies
	}
	ip, ok := d.adapter.Load().ip()
	if ok {
		conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(ip, 0)))
		if ok = err == nil; ok {
			d.tallies = &tallies{conn: conn, at: portOf(conn), done: make(chan struct{})}
			go d.receiveTallies(d.tallies)
		}
	}
	d.noTallies = !ok
	return d.tallies
}

func (s *tallies) port() uint16 {
	if s == nil {
		return 0
	}
	return s.at
}

func portOf(c *net.UDPConn) uint16 {
	at, _ := netip.ParseAddrPort(c.LocalAddr().String())
	return at.Port()
}

func (s *tallies) stop() {
	if s != nil {
		_ = s.conn.Close()
		<-s.done
	}
}

// send sends a tally, if there is a way to.
func (s *tallies) send(t *tally, to netip.AddrPort) {
	if s != nil && to.IsValid() {
		_, _ = s.conn.WriteToUDPAddrPort(t.append(nil), to)
	}
}

// receiveTallies receives tallies until the socket is closed.
func (d *Device) receiveTallies(s *tallies) {
	defer close(s.done)
	var buf [tallyBytes + 1]byte
	for {
		n, from, err := s.conn.ReadFromUDPAddrPort(buf[:])
		if errors.Is(err, net.ErrClosed) {
			return
		}
		t, ok := decodeTally(buf[:n])
		switch {
		case err != nil || !ok:
		case t.ask:
			d.mu.Lock()
			h := d.handles[t.sender]
			d.mu.Unlock()
			if h != nil {
				s.send(h.tally(), from)
			}
		default:
			if q := d.qp(t.qpn); q != nil && q.transport == fabric.UD && q.qkey == t.qkey {
				q.tell(&t, from)
			}
		}
	}
}

// tell takes what a sender says of datagrams for this queue pair.
func (q *QP) tell(t *tally, from netip.AddrPort) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.senders == nil {
		q.senders = map[uint64]sender{}
	}
	before, known := q.senders[t.sender]
	if !known && len(q.senders) == tallySenders || t.sent < before.sent {
		return
	}
	q.senders[t.sender] = sender{at: from, sent: t.sent}
	q.reported.ops[fabric.OpSend] += t.sent - before.sent
	q.findDropped()
}

// askSenders asks the senders for their totals.
func (q *QP) askSenders() {
	q.dev.mu.Lock()
	s := q.dev.tallies
	q.dev.mu.Unlock()
	q.mu.Lock()
	senders := maps.Clone(q.senders)
	q.mu.Unlock()
	for number, from := range senders {
		s.send(&tally{ask: true, qpn: q.num, qkey: q.qkey, sender: number}, from.at)
	}
}

// tally is what a handle says of its datagrams.
func (h *handle) tally() *tally {
	return &tally{qpn: uint32(h.dest), qkey: uint32(h.dest >> 32), sender: h.number, sent: h.sent.Load()}
}
