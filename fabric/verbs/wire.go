package verbs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/crc32c"
)

const (
	wireMagic   = 0x42564d52 // 'RMVB'
	gramMagic   = 0x44554d52 // 'RMUD'
	wireVersion = 1

	maxPrivate = 256
	headBytes  = 3
	helloBytes = 7
	endBytes   = 63
	maxBody    = helloBytes + endBytes + maxPrivate
	gramBytes  = 38
)

// kind is what a message on the control connection is.
type kind uint8

const (
	kindHello kind = 1 + iota
	kindAccept
	kindReject
	kindRefuse
	kindReady
	kindCounts
	kindBye
	kindAsk
)

// Reasons in a bye.
const (
	// byeOver: the program ended the connection, or its own request failed.
	byeOver = 0
	// byeFault: a request of the peer could not be executed (I6).
	byeFault = 1
)

// end describes one end of a connection to the other.
type end struct {
	ethernet bool
	mtu      int
	reads    int // READs and atomics of the peer that it answers at a time
	lid      uint16
	qpn, psn uint32
	rnr      time.Duration
	gid      [16]byte
	// manager is where the end's connection manager expects a request with the
	// token; not valid in a hello, and when there is none.
	manager netip.AddrPort
	token   uint64
	private []byte
}

// hello is the body of hello and accept.
type hello struct {
	transport fabric.Transport
	// managed: the dialer has a connection manager, and the acceptor wants to
	// be connected by it.
	managed bool
	end     end
}

func violation(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), fabric.ErrProtocol)
}

// appendMessage appends a message with the given body.
func appendMessage(b []byte, k kind, body []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, uint16(len(body)))
	return append(append(b, byte(k)), body...)
}

// readMessage reads the next message. The body is in buf.
func readMessage(r io.Reader, buf *[maxBody]byte) (kind, []byte, error) {
	if _, err := io.ReadFull(r, buf[:headBytes]); err != nil {
		return 0, nil, err
	}
	n, k := int(binary.LittleEndian.Uint16(buf[:])), kind(buf[2])
	if n > maxBody {
		return 0, nil, violation("a control message of %d bytes, the limit is %d", n, maxBody)
	}
	if _, err := io.ReadFull(r, buf[:n]); err != nil {
		return 0, nil, err
	}
	return k, buf[:n], nil
}

// mtuCode and codeMTU turn an MTU into a byte and back.
func mtuCode(mtu int) byte {
	code := byte(1)
	for code < 5 && 256<<code <= mtu {
		code++
	}
	return code
}

func codeMTU(code byte) int { return 128 << code }

func (h *hello) encode() []byte {
	b := make([]byte, 0, maxBody)
	b = binary.LittleEndian.AppendUint32(b, wireMagic)
	b = append(b, wireVersion, byte(h.transport), flag(h.managed))
	e := &h.end
	b = append(b, flag(e.ethernet), mtuCode(e.mtu), byte(e.reads))
	b = binary.LittleEndian.AppendUint16(b, e.lid)
	b = binary.LittleEndian.AppendUint32(b, e.qpn)
	b = binary.LittleEndian.AppendUint32(b, e.psn)
	b = binary.LittleEndian.AppendUint64(b, uint64(e.rnr))
	b = append(b, e.gid[:]...)
	ip := netip.IPv6Unspecified()
	if e.manager.IsValid() {
		ip = e.manager.Addr()
	}
	raw := ip.As16()
	b = append(b, raw[:]...)
	b = binary.LittleEndian.AppendUint16(b, e.manager.Port())
	b = binary.LittleEndian.AppendUint64(b, e.token)
	return append(b, e.private...)
}

func flag(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// decodeHello reads the body of hello or accept. The private data is a copy.
func decodeHello(b []byte) (hello, error) {
	var h hello
	if len(b) < 5 || binary.LittleEndian.Uint32(b) != wireMagic {
		return h, violation("it does not speak the protocol of the verbs provider")
	}
	if b[4] != wireVersion {
		return h, violation("it speaks version %d of the protocol, this side version %d: "+
			"use binaries of the same release", b[4], wireVersion)
	}
	if len(b) < helloBytes+endBytes || len(b) > maxBody {
		return h, violation("a hello of %d bytes", len(b))
	}
	h.transport, h.managed = fabric.Transport(b[5]), b[6]&1 != 0
	if h.transport != fabric.RC && h.transport != fabric.UC {
		return h, violation("a connection of transport %d", b[5])
	}
	b = b[helloBytes:]
	e := &h.end
	if b[0] > 1 || b[1] < 1 || b[1] > 5 {
		return h, violation("link layer %d with MTU code %d", b[0], b[1])
	}
	e.ethernet, e.mtu, e.reads = b[0] == 1, codeMTU(b[1]), int(b[2])
	e.lid = binary.LittleEndian.Uint16(b[3:])
	e.qpn = binary.LittleEndian.Uint32(b[5:])
	e.psn = binary.LittleEndian.Uint32(b[9:])
	e.rnr = time.Duration(binary.LittleEndian.Uint64(b[13:]))
	if e.qpn >= 1<<24 || e.psn >= 1<<24 || e.rnr < fabric.RNRForever {
		return h, violation("queue pair %d, PSN %d, RNR timeout %v", e.qpn, e.psn, e.rnr)
	}
	copy(e.gid[:], b[21:])
	e.manager = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[37:53])).Unmap(), binary.LittleEndian.Uint16(b[53:]))
	e.token = binary.LittleEndian.Uint64(b[55:])
	e.private = bytes.Clone(b[endBytes:])
	return h, nil
}

// counts is what an initiator tells of its operations.
type counts struct {
	ops   [fabric.NumOps]uint64
	bytes uint64 // of the one-sided ones
}

const countsBytes = 8 * (int(fabric.NumOps) + 1)

func (c *counts) append(b []byte) []byte {
	for _, n := range c.ops {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return binary.LittleEndian.AppendUint64(b, c.bytes)
}

func decodeCounts(b []byte) (counts, error) {
	var c counts
	if len(b) != countsBytes {
		return c, violation("counts of %d bytes", len(b))
	}
	for i := range c.ops {
		c.ops[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	c.bytes = binary.LittleEndian.Uint64(b[8*len(c.ops):])
	return c, nil
}

// gramAddress is where a datagram queue pair is.
type gramAddress struct {
	ethernet  bool
	lid       uint16
	qpn, qkey uint32
	tally     uint16 // where senders tell how much they have sent; 0 is nowhere
	gid       [16]byte
}

func (a *gramAddress) encode() []byte {
	b := make([]byte, 0, gramBytes)
	b = binary.LittleEndian.AppendUint32(b, gramMagic)
	b = append(b, wireVersion, flag(a.ethernet))
	b = binary.LittleEndian.AppendUint16(b, a.lid)
	b = binary.LittleEndian.AppendUint32(b, a.qpn)
	b = binary.LittleEndian.AppendUint32(b, a.qkey)
	b = binary.LittleEndian.AppendUint16(b, a.tally)
	b = append(b, a.gid[:]...)
	return binary.LittleEndian.AppendUint32(b, crc32c.Checksum(b))
}

func decodeGramAddress(b []byte) (gramAddress, error) {
	var a gramAddress
	if len(b) != gramBytes || binary.LittleEndian.Uint32(b) != gramMagic || b[4] != wireVersion || b[5] > 1 ||
		binary.LittleEndian.Uint32(b[gramBytes-4:]) != crc32c.Checksum(b[:gramBytes-4]) {
		return a, fmt.Errorf("fabric: verbs: %d bytes are not the address of a datagram queue pair: %w",
			len(b), fabric.ErrInvalid)
	}
	a.ethernet = b[5] == 1
	a.lid = binary.LittleEndian.Uint16(b[6:])
	a.qpn = binary.LittleEndian.Uint32(b[8:])
	a.qkey = binary.LittleEndian.Uint32(b[12:])
	a.tally = binary.LittleEndian.Uint16(b[16:])
	copy(a.gid[:], b[18:])
	return a, nil
}
