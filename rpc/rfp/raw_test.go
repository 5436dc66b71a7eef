package rfp_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/rpc/wire"
)

// await waits until cond holds.
func await(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !cond(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for: %s", what)
		}
	}
}

// logbook keeps what was logged.
type logbook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logbook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logbook) says(s string) bool { return strings.Contains(l.String(), s) }

func (l *logbook) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Places in the request memory, as the package documentation draws it.
const (
	rawModes = 0
	rawTaken = 256
	rawSlots = 512
)

// rawClient speaks the protocol by hand, and not always truly.
type rawClient struct {
	t       testing.TB
	dev     fabric.Device
	dom     fabric.Domain
	cq      fabric.CQ
	qp      fabric.QP
	mem     *fabric.Region // from which it writes, and to which it reads
	replies *fabric.Region
	welcome wire.Welcome
	number  uint64 // of its next frame
}

const rawMem = 64 << 10

// goodHello is a hello that a server accepts.
func goodHello() wire.Hello {
	return wire.Hello{Core: wire.AnyCore, Window: 4, Results: 8, Payload: 2048}
}

// newRaw makes everything but the connection.
func (r *rig) newRaw() *rawClient {
	r.Helper()
	c := &rawClient{t: r.TB, number: 1}
	var err error
	if c.dev, err = r.Set.Open(r.Fabric); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(c.vanish)
	c.dom, err = c.dev.NewDomain()
	if err == nil {
		c.mem, err = c.dom.Alloc("raw", rawMem, 0)
	}
	if err == nil {
		c.replies, err = c.dom.Alloc("raw replies", 8*4096, fabric.RemoteWrite)
	}
	if err == nil {
		c.cq, err = c.dev.NewCQ(1024)
	}
	if err != nil {
		r.Fatal(err)
	}
	return c
}

// connect dials with any greeting.
func (c *rawClient) connect(addr fabric.Addr, transport fabric.Transport, greeting []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var err error
	c.qp, err = c.dev.Dial(ctx, addr, fabric.QPConfig{
		Transport: transport, Domain: c.dom, SendCQ: c.cq, RecvCQ: c.cq,
		SendDepth: 128, RecvDepth: 16, RNRTimeout: fabric.RNRForever,
	}, greeting)
	if err != nil {
		return err
	}
	c.welcome, err = wire.ParseWelcome(c.qp.PeerPrivate())
	return err
}

// raw connects a raw client; change may alter its hello.
func (r *rig) raw(change func(c *rawClient, h *wire.Hello)) *rawClient {
	r.Helper()
	c := r.newRaw()
	h := goodHello()
	p := c.replies.Remote()
	h.Replies = wire.Place{Addr: p.Addr, Key: p.Key}
	if change != nil {
		change(c, &h)
	}
	if err := c.connect(r.Addr, fabric.RC, h.Append(nil)); err != nil {
		r.Fatal(err)
	}
	return c
}

// vanish closes the device with everything on it, as the end of a process does.
func (c *rawClient) vanish() {
	if c.dev != nil {
		_ = c.dev.Close()
		c.dev = nil
	}
}

// leave goes in order.
func (c *rawClient) leave() {
	_ = c.qp.Close()
	c.vanish()
}

// do posts one request and waits for its completion.
func (c *rawClient) do(w fabric.WR) fabric.Status {
	c.t.Helper()
	w.Flags |= fabric.FlagSignaled
	if _, err := c.qp.Post([]fabric.WR{w}); err != nil {
		c.t.Fatal(err)
	}
	var comp [1]fabric.Completion
	await(c.t, "completion of a raw request", func() bool { return c.cq.Poll(comp[:]) == 1 })
	return comp[0].Status
}

func (c *rawClient) requests() fabric.Remote {
	return fabric.Remote{Addr: c.welcome.Requests.Addr, Key: c.welcome.Requests.Key}
}

// write writes into the request memory.
func (c *rawClient) write(at int, b []byte) fabric.Status {
	c.t.Helper()
	return c.writeTo(c.requests().At(at), b)
}

func (c *rawClient) writeTo(to fabric.Remote, b []byte) fabric.Status {
	c.t.Helper()
	copy(c.mem.Bytes(), b)
	return c.do(fabric.WR{Op: fabric.OpWrite, Local: c.mem.Seg(0, len(b)), Remote: to})
}

// answer reads the slot of a result frame.
func (c *rawClient) answer(n uint64) []byte {
	c.t.Helper()
	stride := roundUp64(wire.TailedBytes(int(c.welcome.Payload)))
	at := int((n-1)%uint64(c.welcome.Results)) * stride
	remote := fabric.Remote{Addr: c.welcome.Answers.Addr, Key: c.welcome.Answers.Key}
	if s := c.do(fabric.WR{Op: fabric.OpRead, Local: c.mem.Seg(0, stride), Remote: remote.At(at)}); s != fabric.StatusOK {
		c.t.Fatalf("reading answer %d: %v", n, s)
	}
	return bytes.Clone(c.mem.Bytes()[:stride])
}

// awaitAnswer waits for result frame n and returns its payload. It wakes the core when
// the server does not look.
func (c *rawClient) awaitAnswer(n uint64) []byte {
	c.t.Helper()
	var b []byte
	await(c.t, "an answer to a raw client", func() bool {
		b = c.answer(n)
		w := wire.Word0(binary.LittleEndian.Uint64(b))
		if w.Parked(n) {
			c.wake()
		}
		return w.Is(n)
	})
	size := wire.Word0(binary.LittleEndian.Uint64(b)).Size()
	return b[wire.ResultHeader : wire.ResultHeader+size]
}

func (c *rawClient) wake() fabric.Status {
	return c.do(fabric.WR{Op: fabric.OpSend, Flags: fabric.FlagSolicited})
}

func roundUp64(n int) int { return (n + 63) / 64 * 64 }

// slotOf is where frame n belongs.
func (c *rawClient) slotOf(n uint64) int {
	return rawSlots + int((n-1)%uint64(c.welcome.Window))*roundUp64(wire.RequestBytes(int(c.welcome.Payload)))
}

// entries makes a payload of messages.
func entries(msgs ...[]byte) []byte {
	var b []byte
	for _, m := range msgs {
		b = append(b, entry(m, 0)...)
	}
	return b
}

func entry(msg []byte, marks wire.Marks) []byte {
	b := make([]byte, wire.EntryHeader, wire.EntryHeader+len(msg))
	wire.PutEntry(b, len(msg), marks)
	return append(b, msg...)
}

// sealed makes a whole request frame.
func (c *rawClient) sealed(n uint64, payload []byte, w wire.Word1) []byte {
	b := make([]byte, wire.RequestBytes(len(payload)))
	copy(b[wire.RequestHeader:], payload)
	wire.SealRequest(b, n, len(payload), 1, w, c.welcome.Proof)
	return b
}

// send writes the next frame as it should be.
func (c *rawClient) send(payload []byte, w wire.Word1) fabric.Status {
	c.t.Helper()
	n := c.number
	c.number++
	return c.write(c.slotOf(n), c.sealed(n, payload, w))
}

// warm sends long messages until the server has made the area for requests, and returns where it is.
func (c *rawClient) warm() wire.Place {
	c.t.Helper()
	msg := append(entry(request(procEcho, []byte("long")), wire.More), entry([]byte("er"), 0)...)
	for {
		c.send(msg, wire.Word1{Entries: 1, Taken: uint32(c.number - 1)})
		e, _, marks, err := wire.NextEntry(c.awaitAnswer(c.number - 1))
		if err != nil {
			c.t.Fatal(err)
		}
		if a, ok := wire.ParseArea(e); marks == wire.Bulk && ok && !a.Results {
			return a.Place
		}
	}
}

// sendWord is send with word 0 replaced.
func (c *rawClient) sendWord(w0 wire.Word0, payload []byte) fabric.Status {
	c.t.Helper()
	b := c.sealed(c.number, payload, wire.Word1{Entries: 1})
	binary.LittleEndian.PutUint64(b, uint64(w0))
	return c.write(c.slotOf(c.number), b)
}

// setMode writes the mode of all classes.
func (c *rawClient) setMode(m rfp.Mode) {
	c.t.Helper()
	if s := c.write(rawModes, bytes.Repeat([]byte{byte(m)}, 256)); s != fabric.StatusOK {
		c.t.Fatal(s)
	}
}

// awaitEnd waits until the server has ended the connection.
func (c *rawClient) awaitEnd(why string) {
	c.t.Helper()
	var comps [8]fabric.Completion
	await(c.t, why+": the server to end the session", func() bool {
		c.cq.Poll(comps[:])
		return c.qp.State() != fabric.StateReady
	})
}

// connected reports whether the server keeps the session.
func (c *rawClient) connected() bool { return c.qp.State() == fabric.StateReady }

// address is where a server of the fabric listens.
func (r *rig) address(name string) fabric.Addr {
	switch r.Fabric {
	case provider.Shm:
		return fabric.Addr{Fabric: r.Fabric, Name: r.TempDir() + "/" + name}
	case provider.TCP, provider.RDMA:
		return fabric.Addr{Fabric: r.Fabric, Name: "127.0.0.1:0"}
	}
	return fabric.Addr{Fabric: r.Fabric, Name: name}
}

// witness is a good client of the server under attack.
type witness struct {
	r     *rig
	c     *rfp.Conn
	round int
}

// witness connects one whose bulk areas are there already.
func (r *rig) witness() *witness {
	r.Helper()
	w := &witness{r: r, c: r.dial(rfp.ConnConfig{})}
	warm(r, w.c)
	return w
}

// check makes calls of several sizes on a connection that exists already.
func (w *witness) check(t testing.TB) {
	t.Helper()
	for _, n := range []int{0, 40, 3000} {
		w.round++
		arg := pattern(n, w.round)
		if err := w.c.Send(uint8(procEcho), request(procEcho, arg)); err != nil {
			t.Fatalf("the good client: %v", err)
		}
		if !w.c.Wait(patience) {
			t.Fatalf("the good client got no answer: %v", w.c.Err())
		}
		if got, err, ok := w.c.Next(); !ok || err != nil || !bytes.Equal(got, arg) {
			t.Fatalf("the good client got %d bytes for %d, %v, %v", len(got), n, err, ok)
		}
	}
}
