package onesided

import (
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/wire"
)

// version is that of handshake and directory. Ends of different versions refuse each
// other.
const version = 1

var protocol = wire.Protocol{Name: "onesided", Magic: 0x5331 /* "1S" */, Version: version, Err: rpc.ErrProtocol}

const (
	helloSize   = 4
	welcomeSize = 20
)

func checkHello(b []byte) error { return protocol.Check(b, helloSize) }

// welcome says where the directory is.
type welcome struct {
	directory fabric.Remote
	length    int
}

func (w *welcome) bytes() []byte {
	b := binary.LittleEndian.AppendUint64(protocol.Append(nil), w.directory.Addr)
	b = binary.LittleEndian.AppendUint32(b, w.directory.Key)
	return binary.LittleEndian.AppendUint32(b, uint32(w.length))
}

func parseWelcome(b []byte) (w welcome, err error) {
	if err := protocol.Check(b, welcomeSize); err != nil {
		return w, err
	}
	w.directory.Addr = binary.LittleEndian.Uint64(b[4:])
	w.directory.Key = binary.LittleEndian.Uint32(b[12:])
	w.length = int(binary.LittleEndian.Uint32(b[16:]))
	if w.length < directoryHead || w.length > maxDirectory {
		return w, fmt.Errorf("onesided: a directory of %d bytes: %w", w.length, rpc.ErrProtocol)
	}
	return w, nil
}
