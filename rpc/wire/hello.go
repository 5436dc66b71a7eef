package wire

import "encoding/binary"

// Version is the version of frames and handshake. Ends of different versions
// refuse each other.
const Version = 4

var protocol = Protocol{Name: "wire", Magic: 0x5246 /* "FR" */, Version: Version}

// HelloSize and WelcomeSize are the lengths of the private data at connect; every
// fabric carries 56 bytes.
const (
	HelloSize   = 30
	WelcomeSize = 52
)

// proofBit of byte 3 of both greetings: frames prove themselves.
const proofBit = 1

// AnyCore in a Hello leaves the choice of the core to the server.
const AnyCore = 0xFFFF

// Place names registered memory, as fabric.Remote does.
type Place struct {
	Addr uint64
	Key  uint32
}

// Hello is what a client says when it connects.
type Hello struct {
	Core    uint16 // or AnyCore
	Window  uint16 // request frames in flight that it would like
	Results uint16 // result frames that its memory for replies holds
	Payload uint32 // of the largest frame that it takes
	Replies Place  // where results can be written
	Bulk    uint32 // bytes for pieces of long messages that it would like
	Proof   bool   // its device does not promise order, so frames have to prove themselves
}

// Welcome is what the server answers.
type Welcome struct {
	Core, Cores uint16
	Window      uint16 // slots for requests
	Results     uint16 // slots for results; at most what the client has
	Payload     uint32 // of a frame; at most what the client takes
	MaxMessage  uint32 // longest message
	Requests    Place
	Answers     Place
	Bulk        uint32 // bytes for pieces of requests, in an Area that is named when it is made
	ResultBulk  uint32 // bytes for pieces of results, likewise
	Proof       bool   // frames prove themselves: the device of either end does not promise order
}

// Append appends the encoded hello.
func (h *Hello) Append(b []byte) []byte {
	le := binary.LittleEndian
	b = appendHead(b, h.Proof)
	b = le.AppendUint16(b, h.Core)
	b = le.AppendUint16(b, h.Window)
	b = le.AppendUint16(b, h.Results)
	b = le.AppendUint32(b, h.Payload)
	b = appendPlace(b, h.Replies)
	return le.AppendUint32(b, h.Bulk)
}

// ParseHello decodes what a client said.
func ParseHello(b []byte) (h Hello, err error) {
	if err := protocol.Check(b, HelloSize); err != nil {
		return h, err
	}
	le := binary.LittleEndian
	h = Hello{Core: le.Uint16(b[4:]), Window: le.Uint16(b[6:]), Results: le.Uint16(b[8:]), Payload: le.Uint32(b[10:])}
	h.Replies, h.Bulk, h.Proof = placeAt(b[14:]), le.Uint32(b[26:]), b[3]&proofBit != 0
	return h, nil
}

// Append appends the encoded welcome.
func (w *Welcome) Append(b []byte) []byte {
	le := binary.LittleEndian
	b = appendHead(b, w.Proof)
	b = le.AppendUint16(b, w.Core)
	b = le.AppendUint16(b, w.Cores)
	b = le.AppendUint16(b, w.Window)
	b = le.AppendUint16(b, w.Results)
	b = le.AppendUint32(b, w.Payload)
	b = le.AppendUint32(b, w.MaxMessage)
	b = appendPlace(b, w.Requests)
	b = le.AppendUint32(appendPlace(b, w.Answers), w.Bulk)
	return le.AppendUint32(b, w.ResultBulk)
}

// ParseWelcome decodes what a server said.
func ParseWelcome(b []byte) (w Welcome, err error) {
	if err := protocol.Check(b, WelcomeSize); err != nil {
		return w, err
	}
	le := binary.LittleEndian
	w = Welcome{
		Core: le.Uint16(b[4:]), Cores: le.Uint16(b[6:]), Window: le.Uint16(b[8:]), Results: le.Uint16(b[10:]),
		Payload: le.Uint32(b[12:]), MaxMessage: le.Uint32(b[16:]),
	}
	w.Requests, w.Answers = placeAt(b[20:]), placeAt(b[32:])
	w.Bulk, w.ResultBulk, w.Proof = le.Uint32(b[44:]), le.Uint32(b[48:]), b[3]&proofBit != 0
	return w, nil
}

// appendHead appends what both greetings begin with.
func appendHead(b []byte, proof bool) []byte {
	b = protocol.Append(b)
	if proof {
		b[len(b)-1] |= proofBit
	}
	return b
}

func appendPlace(b []byte, p Place) []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(b, p.Addr), p.Key)
}

func placeAt(b []byte) Place {
	return Place{Addr: binary.LittleEndian.Uint64(b), Key: binary.LittleEndian.Uint32(b[8:])}
}
