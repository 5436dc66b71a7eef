package keli

import (
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/fabric"
)

// version is the version of the protocol in the package doc. Peers of different versions refuse
// each other.
const version = 1

const helloMagic = 0x4C4B // "KL"

const (
	helloSize   = 4
	welcomeSize = 24
)

func helloBytes() []byte {
	return append(binary.LittleEndian.AppendUint16(nil, helloMagic), version, 0)
}

// isHello reports whether a connection request is that of a reader.
func isHello(b []byte) bool {
	return len(b) >= helloSize && binary.LittleEndian.Uint16(b) == helloMagic
}

func checkHello(b []byte) error {
	if !isHello(b) {
		return fmt.Errorf("keli: the peer does not speak this protocol: %w", ErrProtocol)
	}
	if b[2] != version {
		return fmt.Errorf("keli: the peer speaks version %d, this program version %d: %w", b[2], version, ErrProtocol)
	}
	return nil
}

// welcome tells a client where the superblock is.
type welcome struct {
	superblock fabric.Remote
	instance   uint64
}

func (w *welcome) bytes() []byte {
	b := binary.LittleEndian.AppendUint32(helloBytes(), w.superblock.Key)
	b = binary.LittleEndian.AppendUint64(b, w.superblock.Addr)
	return binary.LittleEndian.AppendUint64(b, w.instance)
}

func parseWelcome(b []byte) (w welcome, err error) {
	if err := checkHello(b); err != nil {
		return w, err
	}
	if len(b) < welcomeSize {
		return w, fmt.Errorf("keli: welcome of %d bytes: %w", len(b), ErrProtocol)
	}
	w.superblock = fabric.Remote{Key: binary.LittleEndian.Uint32(b[4:]), Addr: binary.LittleEndian.Uint64(b[8:])}
	w.instance = binary.LittleEndian.Uint64(b[16:])
	if w.superblock.Addr%superblockSize != 0 {
		return w, fmt.Errorf("keli: superblock at %#x: %w", w.superblock.Addr, ErrProtocol)
	}
	return w, nil
}
