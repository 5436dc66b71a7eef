package onesided

import (
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
)

// version is that of handshake and directory. Ends of different versions refuse each
// other.
const version = 1

const helloMagic = 0x5331 // "1S"

const (
	helloSize   = 4
	welcomeSize = 20
)

func helloBytes() []byte {
	return append(binary.LittleEndian.AppendUint16(nil, helloMagic), version, 0)
}

// isHello reports whether who connects wants to visit.
func isHello(b []byte) bool {
	return len(b) >= helloSize && binary.LittleEndian.Uint16(b) == helloMagic
}

func checkHello(b []byte) error {
	if len(b) < helloSize || !isHello(b) {
		return fmt.Errorf("onesided: the other end does not speak this protocol: %w", rpc.ErrProtocol)
	}
	if b[2] != version {
		return fmt.Errorf("onesided: the other end speaks version %d, this one %d: %w", b[2], version, rpc.ErrProtocol)
	}
	return nil
}

// welcome says where the directory is.
type welcome struct {
	directory fabric.Remote
	length    int
}

func (w *welcome) bytes() []byte {
	b := binary.LittleEndian.AppendUint64(helloBytes(), w.directory.Addr)
	b = binary.LittleEndian.AppendUint32(b, w.directory.Key)
	return binary.LittleEndian.AppendUint32(b, uint32(w.length))
}

func parseWelcome(b []byte) (w welcome, err error) {
	if err := checkHello(b); err != nil {
		return w, err
	}
	if len(b) < welcomeSize {
		return w, fmt.Errorf("onesided: a welcome of %d bytes: %w", len(b), rpc.ErrProtocol)
	}
	w.directory.Addr = binary.LittleEndian.Uint64(b[4:])
	w.directory.Key = binary.LittleEndian.Uint32(b[12:])
	w.length = int(binary.LittleEndian.Uint32(b[16:]))
	if w.length < directoryHead || w.length > maxDirectory {
		return w, fmt.Errorf("onesided: a directory of %d bytes: %w", w.length, rpc.ErrProtocol)
	}
	return w, nil
}
