package sendrecv

import (
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/rpc"
)

// version is that of handshake and messages. Ends of different versions refuse each
// other.
const version = 1

const helloMagic = 0x5253 // "SR"

const (
	helloSize   = 12
	welcomeSize = 16
)

// anyCore in a hello leaves the choice of the core to the server.
const anyCore = 0xFFFF

// hello is what a client says when it connects: what it would like at most.
type hello struct {
	core uint16
	dimensions
}

// welcome is what the server answers.
type welcome struct {
	core, cores int
	dimensions
}

func (h *hello) bytes() []byte {
	le := binary.LittleEndian
	b := append(le.AppendUint16(nil, helloMagic), version, 0)
	b = le.AppendUint16(b, h.core)
	b = le.AppendUint16(b, uint16(h.window))
	return le.AppendUint32(b, uint32(h.message))
}

func parseHello(b []byte) (h hello, err error) {
	if err := checkMagic(b, helloSize); err != nil {
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
	b := append(le.AppendUint16(nil, helloMagic), version, 0)
	b = le.AppendUint16(b, uint16(w.core))
	b = le.AppendUint16(b, uint16(w.cores))
	b = le.AppendUint16(b, uint16(w.window))
	b = le.AppendUint16(b, 0)
	return le.AppendUint32(b, uint32(w.message))
}

// parseWelcome reads what a server answers to h.
func parseWelcome(b []byte, h *hello) (w welcome, err error) {
	if err := checkMagic(b, welcomeSize); err != nil {
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

// speaks reports whether private data are of this path.
func speaks(b []byte) bool { return len(b) >= 3 && binary.LittleEndian.Uint16(b) == helloMagic }

func checkMagic(b []byte, size int) error {
	switch {
	case !speaks(b):
		return fmt.Errorf("sendrecv: the other end does not speak this protocol: %w", rpc.ErrProtocol)
	case b[2] != version:
		return fmt.Errorf("sendrecv: the other end speaks version %d of the protocol, this one %d: "+
			"use the same release at both ends: %w", b[2], version, rpc.ErrProtocol)
	case len(b) < size:
		return fmt.Errorf("sendrecv: greeting of %d bytes instead of %d: %w", len(b), size, rpc.ErrProtocol)
	}
	return nil
}
