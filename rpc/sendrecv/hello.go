package sendrecv

import (
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/wire"
)

// version is that of handshake and messages. Ends of different versions refuse each
// other.
const version = 1

var protocol = wire.Protocol{Name: "sendrecv", Magic: 0x5253 /* "SR" */, Version: version, Err: rpc.ErrProtocol}

const (
	helloSize   = 12
	welcomeSize = 16
)

// anyCore in a hello leaves the choice of the core to the server.
const anyCore = wire.AnyCore

// hello is the private data of a client that connects: the core and the sizes it asks for.
type hello struct {
	core uint16
	dimensions
}

// welcome is the private data of the server's answer.
type welcome struct {
	core, cores int
	dimensions
}

func (h *hello) bytes() []byte {
	le := binary.LittleEndian
	b := protocol.Append(nil)
	b = le.AppendUint16(b, h.core)
	b = le.AppendUint16(b, uint16(h.window))
	return le.AppendUint32(b, uint32(h.message))
}

func parseHello(b []byte) (h hello, err error) {
	if err := protocol.Check(b, helloSize); err != nil {
		return h, err
	}
	le := binary.LittleEndian
	h.core = le.Uint16(b[4:])
	h.window, h.message = int(le.Uint16(b[6:])), int(le.Uint32(b[8:]))
	if h.window < 1 || h.message < minMessage {
		return h, fmt.Errorf("sendrecv: window %d of messages up to %d bytes", h.window, h.message)
	}
	return h, nil
}

func (w *welcome) bytes() []byte {
	le := binary.LittleEndian
	b := protocol.Append(nil)
	b = le.AppendUint16(b, uint16(w.core))
	b = le.AppendUint16(b, uint16(w.cores))
	b = le.AppendUint16(b, uint16(w.window))
	b = le.AppendUint16(b, 0)
	return le.AppendUint32(b, uint32(w.message))
}

// parseWelcome decodes the server's answer to h.
func parseWelcome(b []byte, h *hello) (w welcome, err error) {
	if err := protocol.Check(b, welcomeSize); err != nil {
		return w, err
	}
	le := binary.LittleEndian
	w.core, w.cores = int(le.Uint16(b[4:])), int(le.Uint16(b[6:]))
	w.window, w.message = int(le.Uint16(b[8:])), int(le.Uint32(b[12:]))
	if w.cores > maxCores || w.core >= w.cores || h.core != anyCore && w.core != int(h.core) ||
		w.window < 1 || w.window > h.window || w.message < minMessage || w.message > h.message {
		return w, fmt.Errorf("sendrecv: the server allows core %d of %d with window %d, messages of %d bytes: %w",
			w.core, w.cores, w.window, w.message, rpc.ErrProtocol)
	}
	return w, nil
}
