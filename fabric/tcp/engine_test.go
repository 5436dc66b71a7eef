package tcp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/remora-kv/remora/fabric"
)

// rig is one end of a connection without a socket: what the peer sends is fed
// by the test, what this side sends is looked at or thrown away.
type rig struct {
	tb     testing.TB
	q      *conn
	e      *end
	secret *fabric.Region // of another domain
	ro     *fabric.Region // of this domain, for READ only
	into   [readSize]byte
	posted int
}

func newRig(tb testing.TB, d *Device, tr fabric.Transport) *rig {
	tb.Helper()
	r := &rig{tb: tb, e: newEnd(tb, d, tr, 32, 4*maxFragment)}
	r.e.cfg.RNRTimeout = 0
	var err error
	if r.q, err = d.newConn(r.e.cfg); err != nil {
		tb.Fatal(err)
	}
	r.e.qp = r.q
	r.q.peerWindow = window
	other, err := d.NewDomain()
	if err != nil {
		tb.Fatal(err)
	}
	if r.secret, err = other.Alloc("secret", 4096, everything); err != nil {
		tb.Fatal(err)
	}
	if r.ro, err = r.e.dom.Alloc("read only", 4096, fabric.RemoteRead); err != nil {
		tb.Fatal(err)
	}
	return r
}

func (r *rig) close() {
	_ = r.e.qp.Close()
	_ = r.secret.Close()
	_ = r.ro.Close()
	r.e.close()
}

// feed hands bytes to the engine as if they had been read from the socket.
func (r *rig) feed(b []byte) error {
	q := r.q
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(b) > 0 && q.Ready() {
		kept := copy(r.into[:], q.part[:q.parted])
		n := copy(r.into[kept:], b)
		b = b[n:]
		if err := q.ingest(r.into[:kept+n]); err != nil {
			q.violated(err)
			return err
		}
		if q.Ready() {
			q.encode()
			if q.out.pending() > maxOut {
				r.tb.Fatalf("%d bytes in the out-buffer", q.out.pending())
			}
		}
	}
	return nil
}

// drain takes what this side wants to send.
func (r *rig) drain() []byte {
	q := r.q
	q.mu.Lock()
	defer q.mu.Unlock()
	var all []byte
	for q.Ready() {
		q.encode()
		n := q.out.pending()
		if n == 0 {
			break
		}
		all = append(all, q.out.b[q.out.r:q.out.w]...)
		q.out.consume(n)
	}
	return all
}

// check makes sure of what must hold whatever the peer does.
func (r *rig) check(err error) {
	r.tb.Helper()
	if err != nil && (!errors.Is(err, fabric.ErrProtocol) || r.q.State() != fabric.StateError) {
		r.tb.Fatalf("state %v after %v", r.q.State(), err)
	}
	for r.e.poll() > 0 {
	}
	if r.q.State() == fabric.StateError {
		// Everything that was posted has completed, once.
		if len(r.e.done) != r.posted {
			r.tb.Fatalf("%d requests and receives were posted, %d completed", r.posted, len(r.e.done))
		}
	}
	if !bytes.Equal(r.secret.Bytes(), make([]byte, 4096)) || !bytes.Equal(r.ro.Bytes(), make([]byte, 4096)) {
		r.tb.Fatal("memory without the right was written")
	}
}

// post posts one request of each kind and some receives.
func (r *rig) post() {
	m := r.e.mem
	flags := fabric.FlagSignaled
	wrs := []fabric.WR{
		{ID: 1, Op: fabric.OpWrite, Local: m.Seg(0, 100), Flags: flags},
		{ID: 2, Op: fabric.OpSend, Local: m.Seg(0, 100), Flags: flags},
	}
	if r.q.transport == fabric.RC {
		wrs = append([]fabric.WR{
			{ID: 3, Op: fabric.OpRead, Local: m.Seg(0, 64), Flags: flags},
			{ID: 4, Op: fabric.OpRead, Local: m.Seg(64, maxFragment+100), More: []fabric.Seg{m.Seg(0, 10)}, Flags: flags},
			{ID: 5, Op: fabric.OpFetchAdd, Local: m.Seg(8, 8), Flags: flags},
			{ID: 6, Op: fabric.OpCmpSwap, Local: m.Seg(16, 8), Flags: flags},
		}, wrs...)
	}
	r.e.post(wrs...)
	for i := range 4 {
		r.e.recv(uint64(100+i), i*1000, 64+i*64)
	}
	r.posted = len(wrs) + 4
	r.drain()
}

// FuzzEngine lets a peer that has said hello say anything. The first byte
// chooses the transport; then each command either is raw bytes or a frame that
// is right but for what the command says.
func FuzzEngine(f *testing.F) {
	f.Add([]byte{0, 1, 0, 0, 2, 0, 0})
	for k := byte(1); k < byte(numKinds); k++ {
		f.Add([]byte{0, k, 0, 64, k, 1, 8, k, 2, 200, 12, 0, 0})
		f.Add([]byte{1, k, 0, 64, k, 1, 8, 4, 0, 16})
	}
	f.Add(append([]byte{0, 0xff, 40}, (&frame{kind: kindBye}).encode()...))
	f.Fuzz(func(t *testing.T, program []byte) {
		if len(program) == 0 {
			return
		}
		d := newDevice(t, Config{})
		r := newRig(t, d, fabric.Transport(program[0]&1))
		defer r.close()
		r.post()
		var err error
		for p := program[1:]; len(p) >= 3 && err == nil && r.q.State() == fabric.StateReady; {
			var b []byte
			if p[0] == 0xff {
				n := min(int(p[1]), len(p)-2)
				b, p = p[2:2+n], p[2+n:]
			} else {
				b = r.invent(p[0], p[1], p[2])
				p = p[3:]
			}
			// In two parts, cut where the command says.
			if len(b) > 0 && len(p) > 0 {
				at := int(p[0]) % len(b)
				if err = r.feed(b[:at]); err == nil {
					err = r.feed(b[at:])
				}
			} else {
				err = r.feed(b)
			}
			if len(p)%3 == 0 {
				r.drain()
			}
		}
		r.check(err)
	})
}

// invent makes a frame that fits the state of the connection, with one thing
// changed.
func (r *rig) invent(what, change, size byte) []byte {
	q := r.q
	q.mu.Lock()
	defer q.mu.Unlock()
	f := frame{kind: kind(what%byte(numKinds-1) + 1), seq: q.executed + 1, arg: r.e.mem.Remote().Key, addr: r.e.mem.Remote().Addr}
	n := uint32(size)
	if change&0x40 != 0 {
		n *= 1000
	}
	switch f.kind {
	case kindSend:
		f.arg, f.length = n, min(n, maxFragment)
	case kindWrite, kindWriteImm:
		f.total, f.length = n, min(n, maxFragment)
	case kindData:
		f.length, f.arg = min(q.msg.total-q.msg.done, maxFragment), 0
	case kindRead:
		f.total = min(n, maxFragment)
	case kindFetchAdd, kindCmpSwap:
		f.total, f.operand = 8, uint64(size)
	case kindReadData:
		f.arg = q.credit
		if s := q.awaited(); s != nil {
			f.seq, f.length = s.first+q.parts, cut(s.remote.Addr+uint64(q.got), s.bytes-q.got)
		}
	case kindAtomicData:
		f.arg = q.credit
		if s := q.awaited(); s != nil {
			f.seq = s.first
		}
	case kindAck:
		f.seq, f.arg = q.seq, q.credit+uint32(size)
	case kindNak:
		f.seq, f.arg = q.acked+1, uint32(size%9)
	default:
	}
	switch change & 0xf {
	case 1:
		f.seq++
	case 2:
		f.arg = r.secret.Remote().Key
		f.addr = r.secret.Remote().Addr
	case 3:
		f.arg = r.ro.Remote().Key
		f.addr = r.ro.Remote().Addr
	case 4:
		f.addr += 4*maxFragment - 3
	case 5:
		f.length /= 2
	case 6:
		f.extra = n
	case 7:
		f.flags = 1 << (size % 8)
	case 8:
		f.addr--
	case 9:
		f.total++
	}
	b := f.encode()
	return append(b, bytes.Repeat([]byte{size}, int(f.length))...)
}

// TestEngineWindow checks that a peer that asks for more than its window is
// refused, before anything is buffered for it.
func TestEngineWindow(t *testing.T) {
	r := newRig(t, newDevice(t, Config{}), fabric.RC)
	defer r.close()
	var err error
	for i := uint32(1); err == nil && i < 100; i++ {
		f := frame{kind: kindRead, seq: i, arg: r.e.mem.Remote().Key, addr: r.e.mem.Remote().Addr, total: maxFragment}
		err = r.feed(f.encode())
	}
	if !errors.Is(err, fabric.ErrProtocol) {
		t.Fatalf("100 READs of %d bytes without reading a response: %v", maxFragment, err)
	}
	r.check(err)
}

// TestEngineTearsNoWord feeds a WRITE byte by byte: words appear whole (G5).
func TestEngineTearsNoWord(t *testing.T) {
	r := newRig(t, newDevice(t, Config{}), fabric.RC)
	defer r.close()
	const size = 64
	for off := range 9 {
		clear(r.e.mem.Bytes()[:128])
		f := frame{
			kind: kindWrite, seq: uint32(off) + 1, arg: r.e.mem.Remote().Key,
			addr: r.e.mem.Remote().Addr + uint64(off), total: size, length: size,
		}
		b := append(f.encode(), bytes.Repeat([]byte{0xff}, size)...)
		for i := range b {
			if err := r.feed(b[i : i+1]); err != nil {
				t.Fatal(err)
			}
			for w := (off + 7) / 8 * 8; w+8 <= off+size; w += 8 {
				if v := binary.LittleEndian.Uint64(r.e.mem.Bytes()[w:]); v != 0 && v != ^uint64(0) {
					t.Fatalf("after %d bytes of a WRITE at %d, the word at %d is %#x", i+1, off, w, v)
				}
			}
		}
		if got := bytes.Count(r.e.mem.Bytes()[:128], []byte{0xff}); got != size {
			t.Fatalf("WRITE of %d bytes at %d wrote %d", size, off, got)
		}
		r.drain()
	}
}
