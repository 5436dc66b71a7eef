package rpc

import (
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/fabric"
)

// Call is a request that a handler serves.
type Call struct {
	// Core is the index of the core that the handler runs on.
	Core int
	// Now is the time of the server's clock (fabric.Clock) in nanoseconds. It may
	// be a few microseconds old.
	Now int64
	// Proc is the procedure.
	Proc uint16
	// Request is the argument. It is a private copy, valid until the handler
	// returns.
	Request []byte
	// Announced is the position, from 1 on, under which this message was announced
	// to the server before it began to serve the batch, so that it could prefetch.
	// It is 0 for a message that was not announced.
	Announced int
	// After may be set by the handler to bytes that follow its result, so that it
	// returns a long result without a copy. They must stay valid as long as the
	// result.
	After []byte
	// Peer identifies the client, as far as the fabric can prove it.
	Peer fabric.Peer
}

// Handler serves a request: it appends the result to out and returns the
// extended slice, as append does. The core copies the result before the next
// call. An error fails this call alone: the client receives an *Error with its
// code, and any other error as CodeFailed. A panic likewise fails this call alone, as
// CodePanic (Protect). out belongs to the core and has room
// for small results, so that appending these does not allocate.
type Handler func(c *Call, out []byte) ([]byte, error)

// ProcSize is the length of the procedure's number in front of a request.
const ProcSize = 2

// MaxProc is the highest number of a procedure: rfp keeps the mode of each.
const MaxProc = 255

// Mux finds the handler of a request by its procedure. Register all handlers
// before the server starts.
type Mux struct {
	handlers []Handler
}

// Handle registers the handler of a procedure. It panics if the handler is nil,
// the procedure has one already, or its number is above MaxProc.
func (m *Mux) Handle(proc uint16, h Handler) {
	if proc > MaxProc {
		panic(fmt.Sprintf("rpc: procedure %d: the highest is %d", proc, MaxProc))
	}
	if h == nil {
		panic(fmt.Sprintf("rpc: nil handler for procedure %d", proc))
	}
	for len(m.handlers) <= int(proc) {
		m.handlers = append(m.handlers, nil)
	}
	if m.handlers[proc] != nil {
		panic(fmt.Sprintf("rpc: two handlers for procedure %d", proc))
	}
	m.handlers[proc] = h
}

// Serve calls the handler for msg, which begins with the procedure's number.
func (m *Mux) Serve(c *Call, msg, out []byte) ([]byte, error) {
	if len(msg) < ProcSize {
		return out, &Error{Code: CodeMalformed, Text: "a request begins with the number of a procedure"}
	}
	c.Proc, c.Request = binary.LittleEndian.Uint16(msg), msg[ProcSize:]
	if int(c.Proc) >= len(m.handlers) || m.handlers[c.Proc] == nil {
		return out, &Error{Code: CodeNoProcedure, Text: fmt.Sprintf("no procedure %d on this server", c.Proc)}
	}
	return m.handlers[c.Proc](c, out)
}
