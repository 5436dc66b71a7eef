package keli

import (
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/fabric"
)

// version is that of everything in the package doc. Ends of different versions refuse
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

// isHello reports whether who connects wants to visit.
func isHello(b []byte) bool {
	return len(b) >= helloSize && binary.LittleEndian.Uint16(b) == helloMagic
}

func checkHello(b []byte) error {
	if !isHello(b) {
		return fmt.Errorf("keli: the other end does not speak this protocol: %w", ErrProtocol)
	}
	if b[2] != version {
		return fmt.Errorf("keli: the other end speaks version %d, this one %d: %w", b[2], version, ErrProtocol)
	}
	return nil
}

// welcome says where the board is.
type welcome struct {
	board    fabric.Remote
	instance uint64
}

func (w *welcome) bytes() []byte {
	b := binary.LittleEndian.AppendUint32(helloBytes(), w.board.Key)
	b = binary.LittleEndian.AppendUint64(b, w.board.Addr)
	return binary.LittleEndian.AppendUint64(b, w.instance)
}

func parseWelcome(b []byte) (w welcome, err error) {
	if err := checkHello(b); err != nil {
		return w, err
	}
	if len(b) < welcomeSize {
		return w, fmt.Errorf("keli: a welcome of %d bytes: %w", len(b), ErrProtocol)
	}
	w.board = fabric.Remote{Key: binary.LittleEndian.Uint32(b[4:]), Addr: binary.LittleEndian.Uint64(b[8:])}
	w.instance = binary.LittleEndian.Uint64(b[16:])
	if w.board.Addr%boardSize != 0 {
		return w, fmt.Errorf("keli: a board at %#x: %w", w.board.Addr, ErrProtocol)
	}
	return w, nil
}
