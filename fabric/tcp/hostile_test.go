package tcp

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// heard collects what a listener reports.
type heard chan error

func (h heard) tell(err error) { h <- err }

func (h heard) next(t *testing.T) error {
	t.Helper()
	select {
	case err := <-h:
		return err
	case <-time.After(patience):
		t.Fatal("nothing was reported")
		return nil
	}
}

// dialRaw opens a plain connection to a listener.
func dialRaw(t *testing.T, l fabric.Listener) *net.TCPConn {
	t.Helper()
	addr, err := net.ResolveTCPAddr("tcp", l.Addr().Name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.DialTCP("tcp", nil, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(base.Until(patience))
	return c
}

// TestHostileHello has a program of another kind connect to a listener.
func TestHostileHello(t *testing.T) {
	reports := make(heard, 16)
	a := newEnd(t, newDevice(t, Config{}), fabric.RC, 64, 4096)
	b := newEnd(t, newDevice(t, Config{}), fabric.RC, 64, 4096)
	defer a.close()
	defer b.close()
	listen := func(limit time.Duration) fabric.Listener {
		l, err := a.dev.Listen(fabric.Addr{Fabric: "tcp", Name: "127.0.0.1:0"}, fabric.ListenConfig{HandshakeTimeout: limit, Report: reports.tell})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	// Who says too little has to be given up, and soon; all others are heard out.
	l, impatient := listen(patience), listen(50*time.Millisecond)
	defer func() { _, _ = l.Close(), impatient.Close() }()
	good := (&hello{version: wireVersion, kind: helloRequest, window: window, private: []byte("me")}).encode(nil)
	with := func(change func(b []byte)) []byte {
		b := bytes.Clone(good)
		change(b)
		return b
	}
	short := []string{"nothing", "a truncated hello", "no private data"}
	for what, b := range map[string][]byte{
		"nothing":            nil,
		"http":               []byte("GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: somebody\r\n\r\n"),
		"redis":              []byte("*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n"),
		"zeros":              make([]byte, 4096),
		"a truncated hello":  good[:20],
		"no private data":    good[:helloSize],
		"too much private":   with(func(b []byte) { binary.LittleEndian.PutUint16(b[20:], 0xffff) }),
		"an accept":          with(func(b []byte) { b[10] = byte(helloAccept) }),
		"a datagram request": with(func(b []byte) { b[11] = byte(fabric.UD) }),
		"an old version":     with(func(b []byte) { b[8] = 0; b[9] = 9 }),
	} {
		at := l
		if slices.Contains(short, what) {
			at = impatient
		}
		c := dialRaw(t, at)
		_, _ = c.Write(b)
		// One error, and the connection is closed.
		if err := reports.next(t); !errors.Is(err, fabric.ErrProtocol) {
			t.Errorf("%s: reported %v", what, err)
		}
		answer, _ := io.ReadAll(c)
		if strings.HasPrefix(what, "an old") {
			if len(answer) != helloSize || answer[10] != byte(helloBadVersion) || answer[8] != wireVersion {
				t.Errorf("%s: answered with %x", what, answer)
			}
		} else if len(answer) != 0 {
			t.Errorf("%s: answered with %x", what, answer)
		}
	}
	// The others do not notice.
	connectAt(t, l, a, b)
	b.post(fabric.WR{Op: fabric.OpRead, Local: b.mem.Seg(0, 64), Remote: a.mem.Remote(), Flags: fabric.FlagSignaled})
	b.ok(1)
	select {
	case err := <-reports:
		t.Errorf("reported once more: %v", err)
	default:
	}
}

// TestHostileFrames has a peer that has said hello properly send garbage, next
// to one that behaves, on the same completion queue.
func TestHostileFrames(t *testing.T) {
	a := newEnd(t, newDevice(t, Config{}), fabric.RC, 1024, 4096)
	a.cfg.SendDepth, a.cfg.RecvDepth = 16, 16
	b := newEnd(t, newDevice(t, Config{}), fabric.RC, 64, 4096)
	defer a.close()
	defer b.close()
	l, err := a.dev.Listen(fabric.Addr{Fabric: "tcp", Name: "127.0.0.1:0"}, fabric.ListenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	connectAt(t, l, a, b)
	good := a.qp
	read := (&frame{kind: kindRead, seq: 1, total: 8, arg: 1}).encode()
	for what, c := range map[string]struct {
		send []byte
		want error
	}{
		"garbage":           {bytes.Repeat([]byte{0xa5}, 100), fabric.ErrProtocol},
		"zeros":             {make([]byte, 64), fabric.ErrProtocol},
		"a huge payload":    {(&frame{kind: kindSend, length: 1 << 31, seq: 1, arg: 1 << 31}).encode(), fabric.ErrProtocol},
		"SEND without RECV": {(&frame{kind: kindSend, seq: 1}).encode(), fabric.ErrProtocol},
		"a gap":             {(&frame{kind: kindRead, seq: 2}).encode(), fabric.ErrProtocol},
		"an unasked ACK":    {(&frame{kind: kindAck, seq: 1}).encode(), fabric.ErrProtocol},
		"unasked data":      {(&frame{kind: kindReadData, seq: 1}).encode(), fabric.ErrProtocol},
		"an unasked NAK":    {(&frame{kind: kindNak, seq: 1, arg: uint32(fabric.StatusRemoteAccess)}).encode(), fabric.ErrProtocol},
		"a guessed key":     {read, fabric.ErrCompletion},
		"a BYE":             {(&frame{kind: kindBye}).encode(), fabric.ErrDisconnected},
		"half a frame":      {read[:20], fabric.ErrPeerLost},
		"nothing":           {nil, fabric.ErrPeerLost},
	} {
		raw, qp := greetRaw(t, l, a)
		if _, err := raw.Write(c.send); err != nil {
			t.Fatal(err)
		}
		_ = raw.CloseWrite()
		// Nobody polls: the device does it by itself.
		select {
		case <-qp.Done():
		case <-time.After(patience):
			t.Fatalf("%s: the queue pair is still ready", what)
		}
		if err := qp.Err(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
		if _, err := io.Copy(io.Discard, raw); err != nil && !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: the connection is not closed: %v", what, err)
		}
		if err := qp.Close(); err != nil {
			t.Error(err)
		}
		b.post(fabric.WR{Op: fabric.OpRead, Local: b.mem.Seg(0, 64), Remote: a.mem.Remote(), Flags: fabric.FlagSignaled})
		b.ok(1)
	}
	if good.State() != fabric.StateReady {
		t.Errorf("the good connection is broken: %v", good.Err())
	}
}

// greetRaw makes a connection whose other end is a plain socket.
func greetRaw(t *testing.T, l fabric.Listener, a *end) (*net.TCPConn, fabric.QP) {
	t.Helper()
	raw := dialRaw(t, l)
	_, _ = raw.Write((&hello{version: wireVersion, kind: helloRequest, window: window}).encode(nil))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := l.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	qp, err := r.Accept(ctx, a.cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	var answer [helloSize]byte
	if _, err := io.ReadFull(raw, answer[:]); err != nil {
		t.Fatal(err)
	}
	return raw, qp
}

// TestDialStranger dials servers of other protocols.
func TestDialStranger(t *testing.T) {
	b := newEnd(t, newDevice(t, Config{}), fabric.RC, 64, 4096)
	defer b.close()
	accept := hello{version: wireVersion, kind: helloAccept, window: window}
	other := accept
	other.version = 7
	for what, c := range map[string]struct {
		answer []byte
		want   error
	}{
		"a mail server":   {[]byte("220 mail.example.org ESMTP at your service\r\n"), fabric.ErrProtocol},
		"another version": {other.encode(nil), fabric.ErrProtocol},
		"bad version":     {(&hello{version: wireVersion, kind: helloBadVersion}).encode(nil), fabric.ErrProtocol},
		"no window":       {(&hello{version: wireVersion, kind: helloAccept}).encode(nil), fabric.ErrProtocol},
		"silence":         {nil, fabric.ErrRefused},
		"half an answer":  {accept.encode(nil)[:9], fabric.ErrRefused},
		"the wrong kind": {
			(&hello{version: wireVersion, kind: helloAccept, window: window, transport: fabric.UC}).encode(nil),
			fabric.ErrProtocol,
		},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			var request [helloSize]byte
			_, _ = io.ReadFull(conn, request[:])
			_, _ = conn.Write(c.answer)
			_ = conn.Close()
		}()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		qp, err := b.dev.Dial(ctx, fabric.Addr{Fabric: "tcp", Name: l.Addr().String()}, b.cfg, nil)
		cancel()
		if qp != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, %v, want %v", what, qp, err, c.want)
		}
		_ = l.Close()
	}
}

// TestListenUsed checks that the error says what to do.
func TestListenUsed(t *testing.T) {
	d := newDevice(t, Config{})
	l, err := d.Listen(fabric.Addr{Fabric: "tcp", Name: "127.0.0.1:0"}, fabric.ListenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if _, err = d.Listen(l.Addr(), fabric.ListenConfig{}); err == nil || !strings.Contains(err.Error(), "another port") {
		t.Errorf("listening at a used port: %v", err)
	}
	if _, err = d.Listen(fabric.Addr{Fabric: "shm", Name: "/x"}, fabric.ListenConfig{}); !errors.Is(err, fabric.ErrInvalid) {
		t.Errorf("listening at an address of another fabric: %v", err)
	}
}

// TestBadConfig reports all faults at once.
func TestBadConfig(t *testing.T) {
	_, err := New(Config{Host: "somewhere", PeerTimeout: -1, SocketBuffer: -1})
	if !errors.Is(err, fabric.ErrInvalid) || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("got %v", err)
	}
}

// TestDatagramStranger sends datagrams that are not for us to a queue pair.
func TestDatagramStranger(t *testing.T) {
	a := newEnd(t, newDevice(t, Config{}), fabric.UD, 16, 64<<10)
	b := newEnd(t, newDevice(t, Config{}), fabric.UD, 16, 64<<10)
	defer a.close()
	defer b.close()
	for _, e := range []*end{a, b} {
		var err error
		if e.qp, err = e.dom.NewUD(e.cfg); err != nil {
			t.Fatal(err)
		}
	}
	var addr gramAddr
	if err := addr.decode(a.qp.Address()); err != nil {
		t.Fatal(err)
	}
	raw, err := net.DialUDP("udp", nil, &net.UDPAddr{IP: addr.ip[:], Port: int(addr.port)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	head := gramHead{dst: addr.qpn, src: 1, key: addr.key}
	var good [gramSize]byte
	head.encode(good[:])
	for _, change := range []func(b []byte) []byte{
		func(b []byte) []byte { return nil },
		func(b []byte) []byte { return b[:gramSize-1] },
		func(b []byte) []byte { b[0]++; return b },
		func(b []byte) []byte { b[4]++; return b },
		func(b []byte) []byte { b[6] = 0x80; return b },
		func(b []byte) []byte { b[8]++; return b },
		func(b []byte) []byte { b[16]++; return b },
		func(b []byte) []byte { return append(b, make([]byte, gramMTU+1)...) },
		func(b []byte) []byte { return append(b, make([]byte, 60000)...) },
	} {
		if _, err := raw.Write(change(bytes.Clone(good[:]))); err != nil {
			t.Fatal(err)
		}
	}
	a.recv(1, 0, 2048)
	h, err := b.dom.NewAddressHandle(context.Background(), a.qp.Address())
	if err != nil {
		t.Fatal(err)
	}
	copy(b.mem.Bytes(), "hello")
	b.post(fabric.WR{Op: fabric.OpSend, Local: b.mem.Seg(0, 5), To: h, Flags: fabric.FlagSignaled})
	b.ok(1)
	c := a.ok(1)[0]
	if c.Bytes != fabric.GRHSize+5 || c.SrcQPN != b.qp.Num() || string(a.mem.Bytes()[fabric.GRHSize:c.Bytes]) != "hello" {
		t.Errorf("received %+v, %q", c, a.mem.Bytes()[fabric.GRHSize:c.Bytes])
	}
	if n := a.qp.Counters().Dropped; n != 2 {
		t.Errorf("%d datagrams dropped, 2 were too long", n)
	}
}

// A datagram address is taken from a peer only if it is of the peer's host.
func TestDatagramsStayWithThePeer(t *testing.T) {
	a, b := newPair(t, fabric.RC)
	cq, err := b.dev.NewCQ(2)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cq.Close() }()
	ud, err := b.dom.NewUD(fabric.QPConfig{Transport: fabric.UD, SendCQ: cq, RecvCQ: cq, SendDepth: 1, RecvDepth: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ud.Close() }()
	own := ud.Address()
	if err := a.qp.Owns(own); err != nil {
		t.Errorf("the peer's own address: %v", err)
	}
	for _, other := range []string{"127.0.0.2", "192.0.2.1", "::1", "0.0.0.0", "224.0.0.1"} {
		ip := netip.MustParseAddr(other).As16()
		stolen := slices.Clone(own)
		copy(stolen[16:], ip[:])
		if err := a.qp.Owns(stolen); !errors.Is(err, fabric.ErrInvalid) || !strings.Contains(err.Error(), other) {
			t.Errorf("an address of %s: %v", other, err)
		}
	}
	if err := a.qp.Owns(own[1:]); !errors.Is(err, fabric.ErrInvalid) {
		t.Errorf("no address: %v", err)
	}
	if err := ud.Owns(own); err == nil {
		t.Error("a datagram queue pair has a peer")
	}
}
