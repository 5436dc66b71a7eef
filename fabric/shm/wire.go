package shm

import (
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/fabric"
)

const (
	magic   = 0x48534d52 // 'RMSH'
	version = 1

	// maxPacket is larger than any message of the protocol.
	maxPacket = 1024
	// maxFDs is the most descriptors that one message carries.
	maxFDs = 3
)

// The kinds of message; see the package doc.
const (
	kindHello = 1 + iota
	kindAccept
	kindReject
	kindRefuse
	kindMap
	kindMapped
	kindRevoked
	kindBye
	kindGram
	kindGramOK
	kindForbid
)

type hello struct {
	transport fabric.Transport
	depth     uint32
	private   []byte
}

func (m *hello) encode() []byte {
	b := []byte{kindHello}
	b = binary.LittleEndian.AppendUint32(b, magic)
	b = append(b, version, byte(m.transport))
	b = binary.LittleEndian.AppendUint32(b, m.depth)
	return append(b, m.private...)
}

// checkOpening checks magic and version of a first message.
func checkOpening(b []byte) error {
	if len(b) < 6 || binary.LittleEndian.Uint32(b[1:]) != magic {
		return fmt.Errorf("the peer does not speak the protocol of Remora shared memory: %w", fabric.ErrProtocol)
	}
	if b[5] != version {
		return fmt.Errorf("the peer speaks version %d, this side %d; use the same release on both: %w",
			b[5], version, fabric.ErrProtocol)
	}
	return nil
}

func decodeHello(b []byte, lim *fabric.Limits) (m hello, err error) {
	if err := checkOpening(b); err != nil {
		return m, err
	}
	if len(b) < 11 || len(b) > 11+lim.MaxPrivate {
		return m, fmt.Errorf("hello of %d bytes: %w", len(b), fabric.ErrProtocol)
	}
	m.transport = fabric.Transport(b[6])
	m.depth = binary.LittleEndian.Uint32(b[7:])
	m.private = b[11:]
	if m.transport != fabric.RC && m.transport != fabric.UC {
		return m, fmt.Errorf("hello asks for transport %d: %w", b[6], fabric.ErrProtocol)
	}
	if m.depth < 1 || m.depth > uint32(lim.MaxDepth) {
		return m, fmt.Errorf("hello with a receive depth of %d: %w", m.depth, fabric.ErrProtocol)
	}
	return m, nil
}

func encodeAccept(depth int, private []byte) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{kindAccept}, uint32(depth))
	return append(b, private...)
}

func decodeAccept(b []byte, lim *fabric.Limits) (depth int, private []byte, err error) {
	if len(b) < 5 || len(b) > 5+lim.MaxPrivate {
		return 0, nil, fmt.Errorf("accept of %d bytes: %w", len(b), fabric.ErrProtocol)
	}
	d := binary.LittleEndian.Uint32(b[1:])
	if d < 1 || d > uint32(lim.MaxDepth) {
		return 0, nil, fmt.Errorf("accept with a receive depth of %d: %w", d, fabric.ErrProtocol)
	}
	return int(d), b[5:], nil
}

// encodeKey makes a map or revoked message.
func encodeKey(kind byte, key uint32) []byte {
	return binary.LittleEndian.AppendUint32([]byte{kind}, key)
}

func decodeKey(b []byte) (uint32, error) {
	if len(b) != 5 {
		return 0, fmt.Errorf("message %d of %d bytes: %w", b[0], len(b), fabric.ErrProtocol)
	}
	return binary.LittleEndian.Uint32(b[1:]), nil
}

type mapped struct {
	key    uint32
	access fabric.Access
	addr   uint64
	size   uint64
}

func (m *mapped) encode() []byte {
	b := encodeKey(kindMapped, m.key)
	b = append(b, byte(m.access))
	b = binary.LittleEndian.AppendUint64(b, m.addr)
	return binary.LittleEndian.AppendUint64(b, m.size)
}

func decodeMapped(b []byte, lim *fabric.Limits) (m mapped, err error) {
	if len(b) != 22 {
		return m, fmt.Errorf("mapped of %d bytes: %w", len(b), fabric.ErrProtocol)
	}
	m = mapped{
		key: binary.LittleEndian.Uint32(b[1:]), access: fabric.Access(b[5]),
		addr: binary.LittleEndian.Uint64(b[6:]), size: binary.LittleEndian.Uint64(b[14:]),
	}
	if m.access != 0 && (m.size == 0 || m.size > uint64(lim.MaxRegion) || m.addr%pageSize != 0) {
		return m, fmt.Errorf("mapped with a region of %d bytes at %#x: %w", m.size, m.addr, fabric.ErrProtocol)
	}
	return m, nil
}

type gram struct {
	qpn    uint32
	secret uint64
}

func (m *gram) encode() []byte {
	b := []byte{kindGram}
	b = binary.LittleEndian.AppendUint32(b, magic)
	b = append(b, version)
	b = binary.LittleEndian.AppendUint32(b, m.qpn)
	return binary.LittleEndian.AppendUint64(b, m.secret)
}

func decodeGram(b []byte) (m gram, err error) {
	if err := checkOpening(b); err != nil {
		return m, err
	}
	if len(b) != 18 {
		return m, fmt.Errorf("datagram request of %d bytes: %w", len(b), fabric.ErrProtocol)
	}
	return gram{qpn: binary.LittleEndian.Uint32(b[6:]), secret: binary.LittleEndian.Uint64(b[10:])}, nil
}
