package tcp

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/remora-kv/remora/fabric"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// golden compares text with a file in testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("the bytes on the wire have changed: a new version is needed, or go test -rewrite.\ngot:\n%s\nwant:\n%s", text, want)
	}
}

// encode is the inverse of decode, from the same table.
func (f *frame) encode() []byte {
	b := make([]byte, shapes[f.kind].header)
	encodeHead(b, f.kind, f.flags, f.length, f.seq, f.arg)
	switch len(b) {
	case atomicDataSize:
		encodeValue(b, f.operand)
	case remoteSize:
		encodeRemote(b, f.addr, f.total, f.extra)
	case atomicSize:
		encodeRemote(b, f.addr, f.total, f.extra)
		encodeOperands(b, f.operand, f.compare)
	}
	return b
}

// someFrames has one frame of each kind.
func someFrames() []frame {
	return []frame{
		{kind: kindSend, flags: flagSolicited, length: 5, seq: 1, arg: 5},
		{kind: kindWrite, length: 64, seq: 2, arg: 0xabcd0001, addr: 0x1234_5678_9abc_def0, total: 64},
		{kind: kindWriteImm, flags: flagSolicited, seq: 3, arg: 0xabcd0001, addr: 0x1000, total: 0, extra: 0xdeadbeef},
		{kind: kindData, length: maxFragment, seq: 4},
		{kind: kindRead, seq: 5, arg: 0xabcd0001, addr: 0x2000, total: maxFragment, extra: 100},
		{kind: kindFetchAdd, seq: 6, arg: 7, addr: 0x3000, total: 8, operand: 0x0102030405060708},
		{kind: kindCmpSwap, seq: 7, arg: 7, addr: 0x3008, total: 8, operand: 1, compare: 1 << 63},
		{kind: kindProbe},
		{kind: kindBye, seq: 9},
		{kind: kindReadData, length: 64, seq: 5, arg: 17},
		{kind: kindAtomicData, seq: 6, arg: 17, operand: 0x1122334455667788},
		{kind: kindAck, flags: flagAnswer, seq: 0xffffffff, arg: 18},
		{kind: kindNak, seq: 10, arg: uint32(fabric.StatusRemoteAccess)},
	}
}

func TestFrameGolden(t *testing.T) {
	var text strings.Builder
	seen := map[kind]bool{}
	for _, f := range someFrames() {
		seen[f.kind] = true
		b := f.encode()
		fmt.Fprintf(&text, "%-11v %x\n", f.kind, b)
		var g frame
		for n := range b {
			if k, err := g.decode(b[:n]); k != 0 || err != nil {
				t.Errorf("%v: %d of %d bytes decoded to %d, %v", f.kind, n, len(b), k, err)
			}
		}
		g = frame{}
		if n, err := g.decode(append(b, 0xee)); n != len(b) || err != nil || g != f {
			t.Errorf("%v: decoded %d of %d bytes, %v, to %+v, want %+v", f.kind, n, len(b), err, g, f)
		}
	}
	for k := kind(1); k < numKinds; k++ {
		if !seen[k] {
			t.Errorf("no example of %v", k)
		}
	}
	golden(t, "frames.txt", text.String())
}

func TestHelloGolden(t *testing.T) {
	var text strings.Builder
	for _, h := range []hello{
		{version: wireVersion, kind: helloRequest, transport: fabric.UC, qpn: 0x10002, window: headSize + maxFragment, private: []byte("key")},
		{version: wireVersion, kind: helloAccept, transport: fabric.RC, qpn: 7, window: 1 << 18},
		{version: wireVersion, kind: helloReject, private: bytes.Repeat([]byte{0xaa}, maxPrivate)},
		{version: wireVersion, kind: helloRefuse},
	} {
		b := h.encode(nil)
		fmt.Fprintf(&text, "%d %x\n", h.kind, b)
		got, n, err := decodeHello((*[helloSize]byte)(b))
		if err != nil || n != len(h.private) || len(b) != helloSize+n {
			t.Fatalf("hello %+v: %d bytes of private data, %v", h, n, err)
		}
		if got.kind != h.kind || got.transport != h.transport || got.qpn != h.qpn || got.window != h.window {
			t.Errorf("decoded %+v, want %+v", got, h)
		}
	}
	g := gramHead{flags: flagSolicited, dst: 0x10001, src: 0x20002, key: 0x1122334455667788}
	var b [gramSize]byte
	g.encode(b[:])
	fmt.Fprintf(&text, "datagram %x\n", b)
	var back gramHead
	if !back.decode(b[:]) || back != g {
		t.Errorf("decoded %+v, want %+v", back, g)
	}
	a := gramAddr{ip: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}, port: 4711, qpn: 0x10001, key: 42}
	fmt.Fprintf(&text, "address %x\n", a.encode())
	var abak gramAddr
	if err := abak.decode(a.encode()); err != nil || abak != a {
		t.Errorf("decoded %+v, %v, want %+v", abak, err, a)
	}
	golden(t, "hello.txt", text.String())
}

// TestFrameRefused has each check of the decoder fail once.
func TestFrameRefused(t *testing.T) {
	good := map[kind]frame{}
	for _, f := range someFrames() {
		good[f.kind] = f
	}
	for _, c := range []struct {
		what   string
		kind   kind
		change func(f *frame)
	}{
		{"kind 0", kindSend, func(f *frame) { f.kind = 0 }},
		{"kind too large", kindSend, func(f *frame) { f.kind = numKinds }},
		{"flag of another kind", kindWrite, func(f *frame) { f.flags = flagSolicited }},
		{"unknown flag", kindAck, func(f *frame) { f.flags = 0x80 }},
		{"payload too long", kindData, func(f *frame) { f.length = maxFragment + 1 }},
		{"payload where there is none", kindRead, func(f *frame) { f.length = 1 }},
		{"SEND shorter than its frame", kindSend, func(f *frame) { f.arg = 4 }},
		{"SEND too long", kindSend, func(f *frame) { f.arg = maxMessage + 1 }},
		{"WRITE shorter than its frame", kindWrite, func(f *frame) { f.total = 63 }},
		{"WRITE too long", kindWrite, func(f *frame) { f.total = maxMessage + 1 }},
		{"WRITE with an immediate", kindWrite, func(f *frame) { f.extra = 1 }},
		{"READ too long", kindRead, func(f *frame) { f.total = maxFragment + 1 }},
		{"READ with too long a rest", kindRead, func(f *frame) { f.extra = maxMessage + 1 }},
		{"READ of nothing with a rest", kindRead, func(f *frame) { f.total = 0 }},
		{"atomic of 4 bytes", kindFetchAdd, func(f *frame) { f.total = 4 }},
		{"atomic off its word", kindCmpSwap, func(f *frame) { f.addr++ }},
	} {
		f := good[c.kind]
		b := f.encode()
		c.change(&f)
		fresh := make([]byte, maxHeader)
		copy(fresh, b)
		encodeHead(fresh, f.kind, f.flags, f.length, f.seq, f.arg)
		if shapes[c.kind].header >= remoteSize {
			encodeRemote(fresh, f.addr, f.total, f.extra)
		}
		var g frame
		if _, err := g.decode(fresh); !errors.Is(err, fabric.ErrProtocol) {
			t.Errorf("%s: got %v", c.what, err)
		}
	}
	b := (&frame{kind: kindProbe}).encode()
	b[2] = 1
	var g frame
	if _, err := g.decode(b); !errors.Is(err, fabric.ErrProtocol) {
		t.Errorf("reserved bytes: got %v", err)
	}
}

func TestHelloRefused(t *testing.T) {
	h := hello{version: wireVersion, kind: helloRequest, window: window, private: []byte("x")}
	for what, change := range map[string]func(b []byte){
		"magic":        func(b []byte) { b[0] ^= 1 },
		"version":      func(b []byte) { b[8]++ },
		"kind":         func(b []byte) { b[10] = byte(numHelloKinds) },
		"kind 0":       func(b []byte) { b[10] = 0 },
		"transport":    func(b []byte) { b[11] = byte(fabric.UD) },
		"window":       func(b []byte) { clear(b[16:20]) },
		"private data": func(b []byte) { b[21] = 2 },
		"reserved":     func(b []byte) { b[31] = 1 },
	} {
		b := h.encode(nil)
		change(b)
		if _, _, err := decodeHello((*[helloSize]byte)(b)); !errors.Is(err, fabric.ErrProtocol) {
			t.Errorf("hello with wrong %s: got %v", what, err)
		}
	}
}

// TestCut checks that pieces end at words and add up.
func TestCut(t *testing.T) {
	for addr := range uint64(16) {
		for _, total := range []uint32{0, 1, maxFragment, maxFragment + 1, 5*maxFragment + 3, maxMessage} {
			for done := uint32(0); done < total; {
				n := cut(addr+uint64(done), total-done)
				if n == 0 || n > maxFragment || (done+n < total && (addr+uint64(done+n))%8 != 0) {
					t.Fatalf("cut(%d, %d) = %d", addr+uint64(done), total-done, n)
				}
				done += n
			}
		}
	}
}

// FuzzFrame decodes anything: no panic, and what is accepted encodes to the
// same bytes.
func FuzzFrame(f *testing.F) {
	for _, x := range someFrames() {
		f.Add(x.encode())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var x frame
		n, err := x.decode(b)
		if n > len(b) || (err != nil && !errors.Is(err, fabric.ErrProtocol)) {
			t.Fatalf("%d of %d bytes, %v", n, len(b), err)
		}
		if err == nil && n != 0 && !bytes.Equal(x.encode(), b[:n]) {
			t.Fatalf("%x decoded to %+v, which encodes to %x", b[:n], x, x.encode())
		}
	})
}

// FuzzHello decodes anything.
func FuzzHello(f *testing.F) {
	h := hello{version: wireVersion, kind: helloRequest, window: window, private: []byte("x")}
	f.Add(h.encode(nil)[:helloSize])
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < helloSize {
			return
		}
		got, n, err := decodeHello((*[helloSize]byte)(b))
		if err != nil {
			return
		}
		got.private = make([]byte, n)
		if !bytes.Equal(got.encode(nil)[:helloSize], b[:helloSize]) {
			t.Fatalf("%x decoded to %+v", b[:helloSize], got)
		}
	})
}

// FuzzGram decodes anything as a datagram and as an address.
func FuzzGram(f *testing.F) {
	var b [gramSize]byte
	(&gramHead{dst: 1, src: 2, key: 3}).encode(b[:])
	f.Add(b[:])
	f.Add((&gramAddr{port: 1}).encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		var h gramHead
		if h.decode(b) {
			var back [gramSize]byte
			if h.encode(back[:]); !bytes.Equal(back[:], b[:gramSize]) {
				t.Fatalf("%x decoded to %+v", b[:gramSize], h)
			}
		}
		var a gramAddr
		if a.decode(b) == nil && !bytes.Equal(a.encode(), b) {
			t.Fatalf("%x decoded to %+v", b, a)
		}
	})
}
