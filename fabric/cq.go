package fabric

import "strconv"

// Status says how a work request ended.
type Status uint8

// The statuses of a completion.
const (
	StatusOK Status = iota
	// StatusFlushed: not executed, or not known to be, because the queue pair
	// broke or was closed.
	StatusFlushed
	// StatusLocalLength: a message was larger than the receive posted for it.
	StatusLocalLength
	// StatusRemoteAccess: the target refused key, range or right (G7).
	StatusRemoteAccess
	// StatusRemoteInvalid: the target could not take the message (G9).
	StatusRemoteInvalid
	// StatusRNRExceeded: the peer posted no receive in time (G9).
	StatusRNRExceeded
	// StatusPeerLost: the peer died or could not be reached; whether the
	// operation happened is unknown.
	StatusPeerLost
	// StatusProtocol: the peer broke the rules of the provider's protocol.
	StatusProtocol
	numStatus
)

var statusNames = [numStatus]string{
	"ok", "flushed", "local length error", "remote access error",
	"remote invalid request", "receiver not ready", "peer lost", "protocol violation",
}

// String returns the status in words.
func (s Status) String() string {
	if s < numStatus {
		return statusNames[s]
	}
	return "Status(" + strconv.Itoa(int(s)) + ")"
}

// Completion is the result of one work request.
type Completion struct {
	// ID is that of the work request.
	ID uint64
	// Bytes is the length received (RECV; with the header on UD), written
	// (the receive consumed by WRITE_IMM) or transferred. Valid on success.
	Bytes uint32
	// Imm is valid when HasImm is set.
	Imm uint32
	// QPN is the number of the queue pair the request was posted to.
	QPN uint32
	// SrcQPN is the sender's queue pair of a received datagram.
	SrcQPN uint32
	// Op and Status are valid on errors too; OpRecv tells receives apart.
	Op     Op
	Status Status
	HasImm bool
}

// Err returns nil for success and otherwise an error that wraps ErrCompletion
// and names operation and status.
func (c *Completion) Err() error {
	if c.Status == StatusOK {
		return nil
	}
	return &CompletionError{Op: c.Op, Status: c.Status, QPN: c.QPN, ID: c.ID}
}

// CQ is a completion queue. It belongs to its owner (T1).
type CQ interface {
	// Poll moves up to len(out) completions into out and returns their number.
	// It never blocks and never allocates. On software providers it also makes
	// the progress that a NIC would make by itself, so an owner with work
	// outstanding keeps polling or waits in a Waiter.
	Poll(out []Completion) int
	// Depth returns the number of completions that the queue can hold.
	Depth() int
	// Close releases the queue. Queue pairs that use it must be closed before:
	// otherwise ErrBusy.
	Close() error
}
