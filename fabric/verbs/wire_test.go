package verbs

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
)

func sampleHello() hello {
	h := hello{transport: fabric.UC, end: end{
		ethernet: true, mtu: 1024, reads: 16, lid: 0x1234, qpn: 0xabcdef, psn: 0x123456,
		rnr: 30 * time.Millisecond, private: []byte("who"),
		manager: netip.MustParseAddrPort("10.1.2.3:4660"), token: 0x1122334455667788,
	}, managed: true}
	for i := range h.end.gid {
		h.end.gid[i] = byte(i)
	}
	return h
}

func TestHelloRoundTrip(t *testing.T) {
	for _, private := range []int{0, 1, 56, maxPrivate} {
		h := sampleHello()
		h.end.private = bytes.Repeat([]byte{7}, private)
		got, err := decodeHello(h.encode())
		if private == 0 {
			h.end.private = nil
			got.end.private = nil
		}
		if err != nil || !reflect.DeepEqual(got, h) {
			t.Errorf("%d bytes of private data: got %+v, %v; want %+v", private, got, err, h)
		}
	}
}

// The bytes of a hello are part of the protocol: another release reads them.
func TestHelloBytes(t *testing.T) {
	h := sampleHello()
	const want = "524d5642" + "01" + "01" + "01" + // magic, version, transport, flags
		"01" + "03" + "10" + "3412" + "efcdab00" + "56341200" + "80c3c90100000000" +
		"000102030405060708090a0b0c0d0e0f" +
		"00000000000000000000ffff0a010203" + "3412" + "8877665544332211" + "77686f"
	if got := hex.EncodeToString(h.encode()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for why, want := range map[byte]string{byeOver: "00", byeFault: "01"} {
		msg := appendMessage(nil, kindBye, []byte{why})
		if got := hex.EncodeToString(msg); got != "010007"+want {
			t.Errorf("a bye for reason %d is %s", why, got)
		}
	}
}

func TestHelloRefusesNonsense(t *testing.T) {
	good := sampleHello()
	b := good.encode()
	change := func(at int, v byte) []byte {
		c := bytes.Clone(b)
		c[at] = v
		return c
	}
	for what, bad := range map[string][]byte{
		"nothing":          nil,
		"four bytes":       b[:4],
		"half":             b[:20],
		"another protocol": change(0, 'X'),
		"another version":  change(4, 9),
		"datagrams":        change(5, byte(fabric.UD)),
		"no transport":     change(5, 200),
		"no link layer":    change(helloBytes, 2),
		"no MTU":           change(helloBytes+1, 0),
		"large MTU":        change(helloBytes+1, 6),
		"large number":     change(helloBytes+8, 1),
		"large PSN":        change(helloBytes+12, 1),
		"negative wait":    change(helloBytes+20, 0x80),
		"too long":         append(bytes.Clone(b), make([]byte, maxPrivate)...),
	} {
		if _, err := decodeHello(bad); !errors.Is(err, fabric.ErrProtocol) {
			t.Errorf("%s: %v, want ErrProtocol", what, err)
		}
	}
	_, err := decodeHello(change(4, 9))
	if err == nil || !strings.Contains(err.Error(), "same release") {
		t.Errorf("another version: %v does not say what to do", err)
	}
}

func TestReadMessage(t *testing.T) {
	var buf [maxBody]byte
	stream := appendMessage(nil, kindReady, nil)
	stream = appendMessage(stream, kindReject, []byte("no"))
	r := bytes.NewReader(append(stream, 5))
	if k, body, err := readMessage(r, &buf); k != kindReady || len(body) != 0 || err != nil {
		t.Errorf("first message: %v, %q, %v", k, body, err)
	}
	if k, body, err := readMessage(r, &buf); k != kindReject || string(body) != "no" || err != nil {
		t.Errorf("second message: %v, %q, %v", k, body, err)
	}
	if _, _, err := readMessage(r, &buf); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut message: %v", err)
	}
	if _, _, err := readMessage(bytes.NewReader([]byte{0xff, 0xff, 1}), &buf); !errors.Is(err, fabric.ErrProtocol) {
		t.Errorf("a message that is too long: %v", err)
	}
}

func TestCountsRoundTrip(t *testing.T) {
	var c counts
	for i := range c.ops {
		c.ops[i] = uint64(i) * 1e12
	}
	c.bytes = 1 << 60
	got, err := decodeCounts(c.append(nil))
	if err != nil || got != c {
		t.Errorf("got %+v, %v; want %+v", got, err, c)
	}
	if _, err := decodeCounts(make([]byte, countsBytes-1)); !errors.Is(err, fabric.ErrProtocol) {
		t.Errorf("short counts: %v", err)
	}
}

func TestGramAddress(t *testing.T) {
	a := gramAddress{ethernet: true, lid: 7, qpn: 99, qkey: 0x1122334, tally: 4660, gid: [16]byte{15: 9}}
	b := a.encode()
	if len(b) != gramBytes || len(b) > 128 {
		t.Fatalf("an address of %d bytes", len(b))
	}
	if got, err := decodeGramAddress(b); err != nil || got != a {
		t.Errorf("got %+v, %v; want %+v", got, err, a)
	}
	for i := range b {
		c := bytes.Clone(b)
		c[i] ^= 0x10
		if _, err := decodeGramAddress(c); !errors.Is(err, fabric.ErrInvalid) {
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
	for _, c := range [][]byte{nil, b[:10], append(bytes.Clone(b), 0), make([]byte, gramBytes)} {
		if _, err := decodeGramAddress(c); !errors.Is(err, fabric.ErrInvalid) {
			t.Errorf("%d bytes: %v", len(c), err)
		}
	}
}

// Whatever comes over the wire is decoded to something legal, or refused.
func FuzzDecode(f *testing.F) {
	h := sampleHello()
	f.Add(h.encode())
	f.Add((&gramAddress{}).encode())
	f.Add((&counts{}).append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := decodeHello(b); err == nil {
			if e := h.end; e.mtu < 256 || e.mtu > 4096 || e.qpn >= 1<<24 || len(e.private) > maxPrivate {
				t.Errorf("%x became %+v", b, h)
			}
			h.end.rnr = max(h.end.rnr, 0)
			planRNR(h.end.rnr)
		}
		if a, err := decodeGramAddress(b); err == nil && !bytes.Equal(a.encode(), b) {
			t.Errorf("%x became %+v", b, a)
		}
		_, _ = decodeCounts(b)
	})
}
