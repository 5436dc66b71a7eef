package fabric

import "strconv"

// Op is the kind of a work request or of what a completion reports.
type Op uint8

// The operations. OpRecv appears in completions and counters only.
const (
	OpSend Op = iota
	OpRecv
	OpWrite
	OpWriteImm
	OpRead
	OpFetchAdd
	OpCmpSwap
	// NumOps is the number of operations; arrays indexed by Op have this size.
	NumOps
)

var opNames = [NumOps]string{"SEND", "RECV", "WRITE", "WRITE_IMM", "READ", "FETCH_ADD", "CMP_SWAP"}

// String returns the name of the verb.
func (o Op) String() string {
	if o < NumOps {
		return opNames[o]
	}
	return "Op(" + strconv.Itoa(int(o)) + ")"
}

// OneSided reports whether o addresses memory of the target.
func (o Op) OneSided() bool { return o >= OpWrite && o < NumOps }

// Atomic reports whether o is FETCH_ADD or CMP_SWAP.
func (o Op) Atomic() bool { return o == OpFetchAdd || o == OpCmpSwap }

// Transport is the type of a queue pair.
type Transport uint8

// The transports.
const (
	RC Transport = iota // reliable, connected
	UC                  // unreliable, connected
	UD                  // unreliable datagram
)

// String returns the short name: rc, uc, ud.
func (t Transport) String() string {
	switch t {
	case RC:
		return "rc"
	case UC:
		return "uc"
	case UD:
		return "ud"
	}
	return "Transport(" + strconv.Itoa(int(t)) + ")"
}

// opsOf is the operation table of the package doc: which operations may be
// posted to the send queue of which transport, one bit per Op.
var opsOf = [...]uint16{
	RC: 1<<OpSend | 1<<OpWrite | 1<<OpWriteImm | 1<<OpRead | 1<<OpFetchAdd | 1<<OpCmpSwap,
	UC: 1<<OpSend | 1<<OpWrite | 1<<OpWriteImm,
	UD: 1 << OpSend,
}

// Allows reports whether op may be posted to the send queue of a queue pair
// of transport t.
func (t Transport) Allows(op Op) bool {
	return int(t) < len(opsOf) && op < NumOps && opsOf[t]&(1<<op) != 0
}
