package driver

import "time"

// Message is a call: the argument of a procedure is Head and, behind it, Body.
type Message struct {
	Proc uint16
	// Class is of calls that take about the same time: a connection with batches puts
	// only calls of one class together.
	Class uint8
	// Hint is a hash of what the call is about, for connections that tell the server
	// ahead.
	Hint       uint64
	Head, Body []byte
}

// set is an assignment, field by field: what was written in words is slow to read in
// larger pieces.
func (m *Message) set(from *Message) {
	m.Proc, m.Class, m.Hint = from.Proc, from.Class, from.Hint
	m.Head, m.Body = from.Head, from.Body
}

// Conn is a connection as a Client drives it: from one goroutine at a time (D1), but for
// Wake and Disconnect, which come from any.
type Conn interface {
	// Send sends a call, at once or with Flush. The message is copied.
	// rpc.ErrWindowFull says that results must be taken first; other errors are those
	// of this call alone, unless Err says that the connection is over.
	Send(m *Message) error
	Flush()
	// Next takes the next result, in the order of the calls; false when it is not
	// there. The result is valid until the next method is called.
	Next() (result []byte, err error, ok bool)
	// Poll makes progress without waiting, and reports whether Next has a result or the
	// connection is over.
	Poll() bool
	// WaitMore waits until more, which polls, says so, at most for nap or until Wake.
	WaitMore(more func() bool, nap time.Duration)
	Wake()
	// Err returns why the connection is over, nil while it is not.
	Err() error
	// Disconnect has the connection end soon, Close at once.
	Disconnect()
	Close() error
}
