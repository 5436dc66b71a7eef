//go:build rdma

package verbs

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"

	"github.com/remora-kv/remora/fabric"
)

// No adapter tells a queue pair how many datagrams were dropped for want of a
// receive, and neither end can know alone. So senders tell receivers how many
// they have sent, now and then, in small UDP packets: the port is part of the
// address of a datagram queue pair. Packets may be lost; each holds a total,
// and the last is said a few times. Nothing but Counters.Dropped depends on
// them.
//
//	magic u32 'RMUT', version u8, QP number u32, Q_Key u32,
//	sender u64, datagrams sent u64
const (
	tallyMagic = 0x54554d52
	tallyBytes = 29
	// tallyRepeats is how often a total is said.
	tallyRepeats = 3
	// tallySenders is how many senders a queue pair keeps apart; more are not
	// counted.
	tallySenders = 4096
)

type tally struct {
	qpn, qkey uint32
	sender    uint64
	sent      uint64
}

func (t *tally) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, tallyMagic)
	b = append(b, wireVersion)
	b = binary.LittleEndian.AppendUint32(b, t.qpn)
	b = binary.LittleEndian.AppendUint32(b, t.qkey)
	b = binary.LittleEndian.AppendUint64(b, t.sender)
	return binary.LittleEndian.AppendUint64(b, t.sent)
}

func decodeTally(b []byte) (t tally, ok bool) {
	if len(b) != tallyBytes || binary.LittleEndian.Uint32(b) != tallyMagic || b[4] != wireVersion {
		return t, false
	}
	return tally{
		qpn: binary.LittleEndian.Uint32(b[5:]), qkey: binary.LittleEndian.Uint32(b[9:]),
		sender: binary.LittleEndian.Uint64(b[13:]), sent: binary.LittleEndian.Uint64(b[21:]),
	}, true
}

// counter is the device's end of the tallies.
type counter struct {
	conn *net.UDPConn
	at   uint16 // its port
	done chan struct{}
}

// tallies returns the device's counter, opened when it is first needed, or nil
// where there can be none. d.mu is held.
func (d *Device) tallies() *counter {
	if d.counter != nil || d.noCounter || d.closed {
		return d.counter
	}
	ip, ok := d.adapter.ip()
	if ok {
		conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(ip, 0)))
		if ok = err == nil; ok {
			d.counter = &counter{conn: conn, at: portOf(conn), done: make(chan struct{})}
			go d.hearTallies(d.counter)
		}
	}
	d.noCounter = !ok
	return d.counter
}

func (c *counter) port() uint16 {
	if c == nil {
		return 0
	}
	return c.at
}

func portOf(c *net.UDPConn) uint16 {
	at, _ := netip.ParseAddrPort(c.LocalAddr().String())
	return at.Port()
}

func (c *counter) stop() {
	if c != nil {
		_ = c.conn.Close()
		<-c.done
	}
}

// hearTallies takes what senders tell.
func (d *Device) hearTallies(c *counter) {
	defer close(c.done)
	var buf [tallyBytes + 1]byte
	for {
		n, _, err := c.conn.ReadFromUDPAddrPort(buf[:])
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		if t, ok := decodeTally(buf[:n]); ok {
			if q := d.qp(t.qpn); q != nil && q.transport == fabric.UD && q.qkey == t.qkey {
				q.tell(&t)
			}
		}
	}
}

// tell takes what a sender tells of datagrams for this queue pair.
func (q *QP) tell(t *tally) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.senders == nil {
		q.senders = map[uint64]uint64{}
	}
	before, known := q.senders[t.sender]
	if !known && len(q.senders) == tallySenders || t.sent <= before {
		return
	}
	q.senders[t.sender] = t.sent
	q.reported.ops[fabric.OpSend] += t.sent - before
	q.findDropped()
}

// outbox is what a handle tells of its datagrams.
type outbox struct {
	to     netip.AddrPort
	sender uint64

	mu   sync.Mutex
	told uint64
	said int // how often
	buf  [tallyBytes]byte
}

func newOutbox(a *gramAddress) *outbox {
	o := &outbox{sender: rand.Uint64()}
	if a.tally != 0 && a.ethernet {
		o.to = netip.AddrPortFrom(netip.AddrFrom16(a.gid).Unmap(), a.tally)
	}
	return o
}

// mail tells the receiver how many datagrams were sent, if it may not know. It
// reports whether there was something to tell.
func (h *handle) mail(c *counter) bool {
	o := h.outbox
	sent := h.sent.Load()
	o.mu.Lock()
	defer o.mu.Unlock()
	if c == nil || !o.to.IsValid() || sent == o.told && (o.said >= tallyRepeats || sent == 0) {
		return false
	}
	if sent != o.told {
		o.told, o.said = sent, 0
	}
	o.said++
	t := tally{qpn: uint32(h.dest), qkey: uint32(h.dest >> 32), sender: o.sender, sent: sent}
	_, _ = c.conn.WriteToUDPAddrPort(t.append(o.buf[:0]), o.to)
	return true
}
