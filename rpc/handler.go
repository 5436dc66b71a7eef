package rpc

import (
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/fabric"
)

// Call is a request as its handler sees it.
type Call struct {
	// Core is the index of the core that the handler runs on.
	Core int
	// Now is the time of the server's clock (fabric.Clock), in nanoseconds, a few
	// microseconds old.
	Now int64
	// Proc is the procedure.
	Proc uint16
	// Request is the argument. It is a private copy, valid until the handler
	// returns.
	Request []byte
	// Announced says that the server was told of this message before it began with
	// the batch that it is in: as the first (1), the second, and so on. It is 0 when
	// the server was not.
	Announced int
	// After, which a handler may set, are bytes that follow its result: so a long
	// result can be returned from where it lies. They are used like the result.
	After []byte
	// Peer says who calls, as far as the fabric can prove it.
	Peer fabric.Peer
}

// Handler serves a request: it appends the result to out and returns the
// extended slice, as append does. What it returns is copied before the next
// call. An error becomes a failure of this call alone; an *Error travels with
// its code, any other error as CodeFailed. out is private to the core and has
// room for small results, so that appending those does not allocate.
type Handler func(c *Call, out []byte) ([]byte, error)

// ProcSize is the length of the procedure's number in front of a request.
const ProcSize = 2

// Mux is a Handler table. Fill it before the server starts.
type Mux struct {
	handlers []Handler
}

// Handle registers the handler of a procedure. A procedure that has one already
// and a nil handler panic.
func (m *Mux) Handle(proc uint16, h Handler) {
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
