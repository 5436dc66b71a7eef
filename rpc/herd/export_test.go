package herd

import "github.com/remora-kv/remora/fabric"

// Raw is what a client without manners does: it has the connection, and writes and
// sends what it likes.
type Raw struct{ *Conn }

// WriteSlot writes a request with any length and stamp into a slot.
func (r Raw) WriteSlot(core, slot int, length, number uint64, generation uint32) error {
	c := r.Conn
	at := c.welcome.slotAt(core, slot) + c.welcome.slot - trailerSize
	mem := c.local.Bytes()[at : at+trailerSize]
	putWords(mem, length, 7, stampOf(generation, number))
	c.sender.one[0] = fabric.WR{
		Op: fabric.OpWrite, Local: c.local.Seg(at, trailerSize), Remote: c.welcome.requests.At(at),
	}
	c.post(true)
	return c.end.Err
}

// WriteAround commits a request as a client does, but leaves out bytes from from to to of its
// slot; the bytes follow when the returned function is called.
func (r Raw) WriteAround(core int, msg []byte, from, to int) (rest func(), err error) {
	c := r.Conn
	cc := c.CoreConn(core)
	b, err := cc.Reserve(0, len(msg))
	if err != nil {
		return nil, err
	}
	copy(b, msg)
	image, end := cc.imageAt(cc.next), cc.imageAt(cc.next)+c.welcome.slot
	cc.seal()
	write := func(from, to int) {
		c.sender.one[0] = fabric.WR{Op: fabric.OpWrite, Local: c.local.Seg(from, to-from), Remote: c.welcome.requests.At(from)}
		c.post(true)
	}
	write(image+to, end)
	write(end-trailerSize-roundUp(len(msg), 8), image+from)
	cc.sent()
	return func() { write(image+from, image+to) }, c.end.Err
}

// Control sends any bytes over UC.
func (r Raw) Control(b []byte) error {
	c := r.Conn
	at := c.coreConns[0].controlAt
	copy(c.local.Bytes()[at:], b)
	c.send(at, len(b))
	return c.end.Err
}

// Wakeup sends a wake-up with any numbers.
func (r Raw) Wakeup(core int, number, mask uint64) error {
	var b [controlSize]byte
	w := wakeup{core: core, number: number, mask: mask}
	return r.Control(b[:w.put(b[:])])
}

// HasWakeup reports whether a wake-up for a request waits for a core to look at it.
func (s *Server) HasWakeup(core int, number uint64) bool {
	found := false
	for _, r := range s.registries {
		r.Do(func() {
			for ss := range r.sessions.All() {
				if index, here := ss.size.indexOf(core); here {
					ch := ss.chunks[index]
					ch.mu.Lock()
					found = found || ch.hasWakeup && ch.wakeup.number == number
					ch.mu.Unlock()
				}
			}
		})
	}
	return found
}

// Generation is that of the connection, Address where its datagrams go.
func (r Raw) Generation() uint32 { return r.welcome.generation }

// Address is where datagrams for the client go.
func (r Raw) Address() []byte { return r.ud.Address() }

// AppendReply appends any reply.
func AppendReply(b []byte, generation uint32, number uint64, core uint16, k uint8, result []byte) []byte {
	var h [headerSize]byte
	header{stampOf(generation, number), core, kind(k)}.put(h[:])
	return append(append(b, h[:]...), result...)
}

func putWords(b []byte, words ...uint64) {
	for i, w := range words {
		for j := range 8 {
			b[8*i+j] = byte(w >> (8 * j))
		}
	}
}
