package sendrecv

import (
	"bytes"
	"testing"
)

// The bytes of handshake and header, as docs/protocol-sendrecv.md draws them.
func TestBytes(t *testing.T) {
	h := hello{core: anyCore, dimensions: dimensions{16, 1024}}
	w := welcome{core: 3, cores: 4, dimensions: dimensions{8, 512}}
	var b [headerSize]byte
	header{0x01020304, kindFailure}.put(b[:])
	for what, p := range map[string]struct{ got, want []byte }{
		"hello":   {h.bytes(), []byte{'S', 'R', 1, 0, 0xFF, 0xFF, 16, 0, 0, 4, 0, 0}},
		"welcome": {w.bytes(), []byte{'S', 'R', 1, 0, 3, 0, 4, 0, 8, 0, 0, 0, 0, 2, 0, 0}},
		"header":  {b[:], []byte{4, 3, 2, 1, 3, 0, 0, 0}},
	} {
		if !bytes.Equal(p.got, p.want) {
			t.Errorf("%s is % x, want % x", what, p.got, p.want)
		}
	}
	if back, err := parseHello(h.bytes()); err != nil || back != h {
		t.Errorf("%+v, %v", back, err)
	}
	if back, err := parseWelcome(w.bytes(), &h); err != nil || back != w {
		t.Errorf("%+v, %v", back, err)
	}
	if back, ok := parseHeader(b[:]); !ok || back != (header{0x01020304, kindFailure}) {
		t.Errorf("%+v, %v", back, ok)
	}
}

// A client takes no welcome that gives more than it asked for, or makes no sense.
func TestWelcomes(t *testing.T) {
	h := hello{core: 1, dimensions: dimensions{8, 512}}
	for _, w := range []welcome{
		{core: 1, cores: 2, dimensions: dimensions{9, 512}},
		{core: 1, cores: 2, dimensions: dimensions{8, 513}},
		{core: 1, cores: 2, dimensions: dimensions{0, 512}},
		{core: 1, cores: 2, dimensions: dimensions{8, 0}},
		{core: 0, cores: 2, dimensions: dimensions{8, 512}},
		{core: 1, cores: 1, dimensions: dimensions{8, 512}},
		{core: 1, cores: maxCores + 1, dimensions: dimensions{8, 512}},
	} {
		if _, err := parseWelcome(w.bytes(), &h); err == nil {
			t.Errorf("%+v was taken", w)
		}
	}
	good := welcome{core: 1, cores: 2, dimensions: dimensions{8, 512}}
	if _, err := parseWelcome(good.bytes(), &h); err != nil {
		t.Error(err)
	}
}

// Places do not overlap, and those of messages that can be there together differ.
func TestPlaces(t *testing.T) {
	for _, d := range []dimensions{{1, 64}, {2, 1000}, {16, 1024}, {7, 4097}} {
		seen := map[int]bool{}
		place := func(at int) {
			if at%lineSize != 0 || at < 0 || at+d.sendBytes() > d.bytes() || seen[at] {
				t.Errorf("%+v: place %d of %d bytes in %d", d, at, d.sendBytes(), d.bytes())
			}
			seen[at] = true
		}
		for n := range uint64(d.receives()) {
			place(d.receiveAt(1000 + n))
		}
		for n := range uint64(d.window) {
			place(d.sendAt(1000 + n))
		}
		if d.sendDepth() < d.window+d.signalEvery() {
			t.Errorf("%+v: a queue of %d", d, d.sendDepth())
		}
	}
}
