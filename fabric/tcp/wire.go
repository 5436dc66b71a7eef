package tcp

import (
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/fabric"
)

// The numbers of the protocol. The package doc draws what they measure.
const (
	wireVersion = 1
	// helloSize is the fixed part of a hello, before the private data.
	helloSize = 32
	// headSize is the part that every frame begins with.
	headSize = 16
	// remoteSize and atomicSize are whole headers of one-sided requests.
	remoteSize = 32
	atomicSize = 48
	// atomicDataSize is a whole ATOMIC_DATA frame.
	atomicDataSize = 24
	maxHeader      = atomicSize
	// maxFragment bounds the payload of one frame.
	maxFragment = 64 << 10
	// maxPrivate bounds the private data of a hello.
	maxPrivate = 256
	// maxMessage bounds one message or one-sided operation.
	maxMessage = 1 << 30
	// gramSize is the header of a datagram.
	gramSize = 24
	// gramMTU bounds the payload of a datagram: with gramSize, UDP and IPv6
	// headers it fits an Ethernet frame of 1500 bytes.
	gramMTU = 1400
)

var helloMagic = [8]byte{'r', 'e', 'm', 'o', 'r', 'a', '\r', '\n'}

const gramMagic = 0x44554d52 // "RMUD"

// helloKind says what a hello is.
type helloKind uint8

const (
	helloRequest    helloKind = iota + 1 // a dialer asks
	helloAccept                          // the acceptor agrees
	helloReject                          // the program refuses, with private data
	helloRefuse                          // not taken: backlog full or listener closed
	helloBadVersion                      // the version of the other hello is unknown
	numHelloKinds
)

// hello is what each side says first.
type hello struct {
	version   uint16
	kind      helloKind
	transport fabric.Transport
	qpn       uint32
	window    uint32
	private   []byte
}

// encode appends the hello to b.
func (h *hello) encode(b []byte) []byte {
	var fixed [helloSize]byte
	copy(fixed[:], helloMagic[:])
	binary.LittleEndian.PutUint16(fixed[8:], h.version)
	fixed[10] = byte(h.kind)
	fixed[11] = byte(h.transport)
	binary.LittleEndian.PutUint32(fixed[12:], h.qpn)
	binary.LittleEndian.PutUint32(fixed[16:], h.window)
	binary.LittleEndian.PutUint16(fixed[20:], uint16(len(h.private)))
	b = append(b, fixed[:]...)
	return append(b, h.private...)
}

// decodeHello reads the fixed part of a hello; private is the number of bytes
// that follow. Of a hello of another version only version is valid.
func decodeHello(b *[helloSize]byte) (h hello, private int, err error) {
	if [8]byte(b[:8]) != helloMagic {
		return h, 0, violation("the first bytes %q are not those of a Remora peer", b[:8])
	}
	h.version = binary.LittleEndian.Uint16(b[8:])
	if h.version != wireVersion {
		return h, 0, violation("it speaks version %d of the protocol and this side %d: upgrade the older one",
			h.version, wireVersion)
	}
	h.kind, h.transport = helloKind(b[10]), fabric.Transport(b[11])
	h.qpn = binary.LittleEndian.Uint32(b[12:])
	h.window = binary.LittleEndian.Uint32(b[16:])
	private = int(binary.LittleEndian.Uint16(b[20:]))
	switch {
	case h.kind == 0 || h.kind >= numHelloKinds:
		return h, 0, violation("hello of unknown kind %d", h.kind)
	case h.transport > fabric.UC:
		return h, 0, violation("hello for transport %d", h.transport)
	case private > maxPrivate:
		return h, 0, violation("hello with %d bytes of private data, the limit is %d", private, maxPrivate)
	case binary.LittleEndian.Uint16(b[22:]) != 0 || binary.LittleEndian.Uint64(b[24:]) != 0:
		return h, 0, violation("hello with reserved bytes set")
	case h.kind <= helloAccept && h.window < headSize+maxFragment:
		return h, 0, violation("hello with a response window of %d bytes, at least %d are needed",
			h.window, headSize+maxFragment)
	}
	return h, private, nil
}

// kind is the type of a frame.
type kind uint8

const (
	kindSend kind = iota + 1
	kindWrite
	kindWriteImm
	kindData
	kindRead
	kindFetchAdd
	kindCmpSwap
	kindProbe
	kindBye
	kindReadData
	kindAtomicData
	kindAck
	kindNak
	numKinds
)

// flagSolicited marks SEND and WRITE_IMM, flagAnswer an ACK that answers a
// PROBE.
const (
	flagSolicited = 1 << 0
	flagAnswer    = 1 << 1
)

// shape is what is fixed about a kind of frame.
type shape struct {
	name    string
	header  int   // bytes before the payload
	payload bool  // length may be other than 0
	flags   uint8 // that may be set
	uc      bool  // may be sent on UC
}

// shapes is the protocol as a table: names, checks and tests come from it.
var shapes = [numKinds]shape{
	kindSend:       {"SEND", headSize, true, flagSolicited, true},
	kindWrite:      {"WRITE", remoteSize, true, 0, true},
	kindWriteImm:   {"WRITE_IMM", remoteSize, true, flagSolicited, true},
	kindData:       {"DATA", headSize, true, 0, true},
	kindRead:       {"READ", remoteSize, false, 0, false},
	kindFetchAdd:   {"FETCH_ADD", atomicSize, false, 0, false},
	kindCmpSwap:    {"CMP_SWAP", atomicSize, false, 0, false},
	kindProbe:      {"PROBE", headSize, false, 0, false},
	kindBye:        {"BYE", headSize, false, 0, true},
	kindReadData:   {"READ_DATA", headSize, true, 0, false},
	kindAtomicData: {"ATOMIC_DATA", atomicDataSize, false, 0, false},
	kindAck:        {"ACK", headSize, false, flagAnswer, false},
	kindNak:        {"NAK", headSize, false, 0, true},
}

// String returns the name of the frame.
func (k kind) String() string {
	if k < numKinds && shapes[k].name != "" {
		return shapes[k].name
	}
	return fmt.Sprintf("frame kind %d", uint8(k))
}

// frame is a decoded header. Which fields are valid depends on the kind.
type frame struct {
	kind   kind
	flags  uint8
	length uint32 // payload bytes behind the header
	seq    uint32
	arg    uint32 // SEND: total; one-sided: key; responses: credit; NAK: status
	total  uint32 // bytes of the whole WRITE; bytes asked by READ
	extra  uint32 // WRITE_IMM: immediate; READ: bytes that will be asked after
	addr   uint64
	// operand and compare of atomics; operand is the value of ATOMIC_DATA.
	operand, compare uint64
}

// encodeHead writes the part that all frames have.
func encodeHead(b []byte, k kind, flags uint8, length, seq, arg uint32) {
	_ = b[headSize-1]
	binary.LittleEndian.PutUint32(b, uint32(k)|uint32(flags)<<8)
	binary.LittleEndian.PutUint32(b[4:], length)
	binary.LittleEndian.PutUint32(b[8:], seq)
	binary.LittleEndian.PutUint32(b[12:], arg)
}

// encodeRemote writes what one-sided requests have behind that.
func encodeRemote(b []byte, addr uint64, total, extra uint32) {
	_ = b[remoteSize-1]
	binary.LittleEndian.PutUint64(b[16:], addr)
	binary.LittleEndian.PutUint32(b[24:], total)
	binary.LittleEndian.PutUint32(b[28:], extra)
}

// encodeOperands writes what atomics have behind that.
func encodeOperands(b []byte, operand, compare uint64) {
	_ = b[atomicSize-1]
	binary.LittleEndian.PutUint64(b[32:], operand)
	binary.LittleEndian.PutUint64(b[40:], compare)
}

// encodeValue writes what ATOMIC_DATA has behind the common part.
func encodeValue(b []byte, v uint64) { binary.LittleEndian.PutUint64(b[headSize:], v) }

// decode reads a header from the front of b and returns its length, or 0 when
// b is too short to tell. It checks everything that can be checked without
// knowing the connection; the error wraps fabric.ErrProtocol.
func (f *frame) decode(b []byte) (int, error) {
	if len(b) < headSize {
		return 0, nil
	}
	first := binary.LittleEndian.Uint32(b)
	f.kind, f.flags = kind(first), uint8(first>>8)
	f.length = binary.LittleEndian.Uint32(b[4:])
	f.seq = binary.LittleEndian.Uint32(b[8:])
	f.arg = binary.LittleEndian.Uint32(b[12:])
	if f.kind == 0 || f.kind >= numKinds {
		return 0, violation("frame of unknown kind %d", f.kind)
	}
	s := &shapes[f.kind]
	if first>>16 != 0 || f.flags&^s.flags != 0 {
		return 0, violation("%v frame with reserved bits %#x set", f.kind, first>>8)
	}
	if f.length > maxFragment || (f.length != 0 && !s.payload) {
		return 0, violation("%v frame with %d bytes of payload", f.kind, f.length)
	}
	if len(b) < s.header {
		return 0, nil
	}
	switch s.header {
	case headSize:
		if f.kind == kindSend && (f.arg > maxMessage || f.length > f.arg) {
			return 0, violation("SEND of %d bytes with %d of them in its frame", f.arg, f.length)
		}
		return headSize, nil
	case atomicDataSize:
		f.operand = binary.LittleEndian.Uint64(b[16:])
		return atomicDataSize, nil
	}
	return s.header, f.decodeRemote(b)
}

func (f *frame) decodeRemote(b []byte) error {
	f.addr = binary.LittleEndian.Uint64(b[16:])
	f.total = binary.LittleEndian.Uint32(b[24:])
	f.extra = binary.LittleEndian.Uint32(b[28:])
	switch f.kind {
	case kindRead:
		if f.total > maxFragment || f.extra > maxMessage || (f.total == 0 && f.extra != 0) {
			return violation("READ of %d bytes and then %d", f.total, f.extra)
		}
		return nil
	case kindFetchAdd, kindCmpSwap:
		f.operand = binary.LittleEndian.Uint64(b[32:])
		f.compare = binary.LittleEndian.Uint64(b[40:])
		if f.total != 8 || f.extra != 0 || f.addr%8 != 0 {
			return violation("%v of %d bytes at %#x", f.kind, f.total, f.addr)
		}
		return nil
	default: // WRITE and WRITE_IMM
	}
	if f.total > maxMessage || f.length > f.total || (f.kind == kindWrite && f.extra != 0) {
		return violation("%v of %d bytes with %d of them in its frame", f.kind, f.total, f.length)
	}
	return nil
}

// cut returns how many of rest bytes at addr go into the next frame: all, or
// as many as end at an aligned word, so that no word is torn between frames.
func cut(addr uint64, rest uint32) uint32 {
	if rest <= maxFragment {
		return rest
	}
	return maxFragment - uint32((addr+maxFragment)%8)
}

// gramHead is the header of a datagram.
type gramHead struct {
	flags    uint8
	dst, src uint32
	key      uint64
}

func (g *gramHead) encode(b []byte) {
	_ = b[gramSize-1]
	binary.LittleEndian.PutUint32(b, gramMagic)
	binary.LittleEndian.PutUint32(b[4:], wireVersion|uint32(g.flags)<<16)
	binary.LittleEndian.PutUint32(b[8:], g.dst)
	binary.LittleEndian.PutUint32(b[12:], g.src)
	binary.LittleEndian.PutUint64(b[16:], g.key)
}

// decode reports whether b begins with a header of this version.
func (g *gramHead) decode(b []byte) bool {
	if len(b) < gramSize || binary.LittleEndian.Uint32(b) != gramMagic {
		return false
	}
	v := binary.LittleEndian.Uint32(b[4:])
	g.flags = uint8(v >> 16)
	g.dst = binary.LittleEndian.Uint32(b[8:])
	g.src = binary.LittleEndian.Uint32(b[12:])
	g.key = binary.LittleEndian.Uint64(b[16:])
	return v&0xffff == wireVersion && v>>24 == 0 && g.flags&^flagSolicited == 0
}

// gramAddrSize is the length of QP.Address of a datagram queue pair.
const gramAddrSize = 32

// gramAddr is a decoded QP.Address.
type gramAddr struct {
	ip   [16]byte // IPv4 as ::ffff:a.b.c.d
	port uint16
	qpn  uint32
	key  uint64
}

func (a *gramAddr) encode() []byte {
	b := make([]byte, gramAddrSize)
	b[0] = wireVersion
	binary.LittleEndian.PutUint16(b[2:], a.port)
	binary.LittleEndian.PutUint32(b[4:], a.qpn)
	binary.LittleEndian.PutUint64(b[8:], a.key)
	copy(b[16:], a.ip[:])
	return b
}

func (a *gramAddr) decode(b []byte) error {
	if len(b) != gramAddrSize || b[0] != wireVersion || b[1] != 0 {
		return fmt.Errorf("fabric: tcp: %d bytes %x are not the address of a datagram queue pair of this provider: %w",
			len(b), b[:min(len(b), 4)], fabric.ErrInvalid)
	}
	a.port = binary.LittleEndian.Uint16(b[2:])
	a.qpn = binary.LittleEndian.Uint32(b[4:])
	a.key = binary.LittleEndian.Uint64(b[8:])
	a.ip = [16]byte(b[16:])
	return nil
}

// violation is what a peer did against the protocol.
func violation(format string, args ...any) error {
	return fmt.Errorf("fabric: tcp: %s: %w", fmt.Sprintf(format, args...), fabric.ErrProtocol)
}
