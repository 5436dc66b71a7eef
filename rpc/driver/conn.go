package driver

import "time"

// Message is a call: the argument of a procedure is Head and, behind it, Body.
type Message struct {
	Proc uint16
	// Class groups calls that take about the same time. A connection puts only calls of one
	// class into a batch.
	Class uint8
	// Hint is a hash of the key, for connections that announce keys to the server.
	Hint       uint64
	Head, Body []byte
}

// set assigns field by field: memory written in words is slow to read in larger units.
func (m *Message) set(from *Message) {
	m.Proc, m.Class, m.Hint = from.Proc, from.Class, from.Hint
	m.Head, m.Body = from.Head, from.Body
}

// release forgets the argument: its memory is the caller's again.
func (m *Message) release() { m.Head, m.Body = nil, nil }

// Conn is a connection as a Client drives it: from one goroutine at a time (D1), except for
// Wake and Disconnect, which any goroutine may call.
type Conn interface {
	// Send copies a call and sends it, at once or with Flush. An error means that the server
	// never serves the call. rpc.ErrWindowFull means that results must be taken first; other
	// errors concern this call alone, unless Err returns one too.
	Send(m *Message) error
	Flush()
	// Next returns the next result, in the order of the calls; ok is false if it has not
	// come. The result is valid until the next method call. What has come before the end of the
	// connection can be taken after it.
	Next() (result []byte, err error, ok bool)
	// Poll makes progress without waiting, and reports whether Next has a result or the
	// connection is over.
	Poll() bool
	// WaitMore waits until more, which polls, returns true, for at most limit or until Wake.
	WaitMore(more func() bool, limit time.Duration)
	Wake()
	// Err returns why the connection is over, nil while it is not.
	Err() error
	// Disconnect makes the connection end soon, Close ends it at once.
	Disconnect()
	Close() error
}
