package herd

import (
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/wire"
)

// version is that of handshake, slots and replies. Ends of different versions refuse
// each other.
const version = 2

var protocol = wire.Protocol{Name: "herd", Magic: 0x4448 /* "HD" */, Version: version, Err: rpc.ErrProtocol}

// proofBit of byte 3 of both greetings: requests prove themselves, because the device of either
// end does not promise order.
const proofBit = 1

const (
	helloSize   = 12
	welcomeSize = 28
)

// hello is the private data of a client that connects.
type hello struct {
	window int // slots on each core that it would like
	slot   int // the longest slot that it uses
	first  int // first core that it wants
	count  int // how many; 0 is all
	proof  bool
}

// welcome is the private data of the server's answer.
type welcome struct {
	dimensions
	total      int // cores of the server
	proof      bool
	generation uint32
	requests   fabric.Remote
}

// head is what both greetings begin with.
func head(proof bool) []byte {
	b := protocol.Append(nil)
	if proof {
		b[3] |= proofBit
	}
	return b
}

func (h *hello) bytes() []byte {
	le := binary.LittleEndian
	b := head(h.proof)
	b = le.AppendUint16(b, uint16(h.window))
	b = le.AppendUint16(b, uint16(h.slot))
	b = le.AppendUint16(b, uint16(h.first))
	return le.AppendUint16(b, uint16(h.count))
}

func parseHello(b []byte) (h hello, err error) {
	if err := protocol.Check(b, helloSize); err != nil {
		return h, err
	}
	le := binary.LittleEndian
	h = hello{
		window: int(le.Uint16(b[4:])), slot: int(le.Uint16(b[6:])),
		first: int(le.Uint16(b[8:])), count: int(le.Uint16(b[10:])), proof: b[3]&proofBit != 0,
	}
	if h.window < 1 || h.slot < minSlot {
		return h, fmt.Errorf("herd: window %d of slots of %d bytes", h.window, h.slot)
	}
	return h, nil
}

// chose reports whether that many cores, of a server that has total, are what
// was asked for.
func (h *hello) chose(cores, total int) bool {
	if cores < 1 || total > maxCores || h.first+cores > total {
		return false
	}
	if h.count == 0 {
		return cores == total-h.first
	}
	return cores == h.count
}

func (w *welcome) bytes() []byte {
	le := binary.LittleEndian
	b := head(w.proof)
	b = le.AppendUint16(b, uint16(w.cores))
	b = le.AppendUint16(b, uint16(w.window))
	b = le.AppendUint16(b, uint16(w.slot))
	b = le.AppendUint16(b, uint16(w.total))
	b = le.AppendUint32(b, w.generation)
	b = le.AppendUint64(b, w.requests.Addr)
	return le.AppendUint32(b, w.requests.Key)
}

// parseWelcome decodes the server's answer to h.
func parseWelcome(b []byte, h *hello) (w welcome, err error) {
	if err := protocol.Check(b, welcomeSize); err != nil {
		return w, err
	}
	le := binary.LittleEndian
	w.dimensions = dimensions{
		first: h.first, cores: int(le.Uint16(b[4:])), window: int(le.Uint16(b[6:])), slot: int(le.Uint16(b[8:])),
	}
	w.total, w.proof = int(le.Uint16(b[10:])), b[3]&proofBit != 0
	w.generation = le.Uint32(b[12:])
	w.requests = fabric.Remote{Addr: le.Uint64(b[16:]), Key: le.Uint32(b[24:])}
	if h.proof && !w.proof {
		return w, fmt.Errorf("herd: the server does not ask for proof of requests, and this end does not promise their order: %w", rpc.ErrProtocol)
	}
	if !h.chose(w.cores, w.total) || w.window < 1 || w.window > h.window ||
		w.slot < minSlot || w.slot > h.slot || w.slot%8 != 0 || w.generation == 0 || w.generation > maxGen {
		return w, fmt.Errorf("herd: the server allows %d of %d cores with window %d, slots of %d bytes, generation %d: %w",
			w.cores, w.total, w.window, w.slot, w.generation, rpc.ErrProtocol)
	}
	return w, nil
}

// The messages that a client sends over UC beside requests.
const (
	tagIntroduction = 1
	tagWakeup       = 2

	introductionHead = 4
	wakeupSize       = 24
	// maxAddress bounds the address of a datagram queue pair (fabric.QP.Address).
	maxAddress = 128
	// controlSize is the longest of them.
	controlSize = introductionHead + maxAddress
)

// wakeup says which requests to a core have no reply.
type wakeup struct {
	core   int
	number uint64
	mask   uint64
}

// put writes the wake-up into b and returns its length.
func (r *wakeup) put(b []byte) int {
	le := binary.LittleEndian
	b[0], b[1] = tagWakeup, 0
	le.PutUint16(b[2:], uint16(r.core))
	le.PutUint32(b[4:], 0)
	le.PutUint64(b[8:], r.number)
	le.PutUint64(b[16:], r.mask)
	return wakeupSize
}

// putIntroduction writes the introduction into b and returns its length.
func putIntroduction(b, address []byte) int {
	b[0], b[1] = tagIntroduction, 0
	binary.LittleEndian.PutUint16(b[2:], uint16(len(address)))
	return introductionHead + copy(b[introductionHead:], address)
}

// parseControl reads an introduction (address is not nil) or a wake-up.
func parseControl(b []byte) (r wakeup, address []byte, ok bool) {
	if len(b) < introductionHead {
		return r, nil, false
	}
	le := binary.LittleEndian
	n := int(le.Uint16(b[2:]))
	switch {
	case b[0] == tagIntroduction && n >= 1 && n <= maxAddress && len(b) == introductionHead+n:
		return r, b[introductionHead:], true
	case b[0] == tagWakeup && len(b) == wakeupSize:
		return wakeup{core: n, number: le.Uint64(b[8:]), mask: le.Uint64(b[16:])}, nil, true
	}
	return r, nil, false
}
