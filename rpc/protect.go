package rpc

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Protect returns a function that calls serve, and whose call fails with CodePanic if serve
// panics. The panic and its stack are logged, once a second of the server's clock at most.
// Servers protect their handlers so that one request does not end all others.
func Protect(serve func(c *Call, msg, out []byte) ([]byte, error), log *slog.Logger) func(c *Call, msg, out []byte) ([]byte, error) {
	p := protector{log: log}
	return func(c *Call, msg, out []byte) (res []byte, err error) {
		defer p.recovered(c, &res, &err)
		return serve(c, msg, out)
	}
}

// protector logs panics.
type protector struct {
	log    *slog.Logger
	next   atomic.Int64 // when the next one may be logged (Call.Now)
	silent atomic.Int64 // panics that were not logged since the last
}

// recovered ends a panic, if there is one.
func (p *protector) recovered(c *Call, res *[]byte, err *error) {
	if v := recover(); v != nil {
		c.After = nil
		*res, *err = nil, p.panicked(c, v)
	}
}

func (p *protector) panicked(c *Call, v any) error {
	if next := p.next.Load(); c.Now < next || !p.next.CompareAndSwap(next, c.Now+int64(time.Second)) {
		p.silent.Add(1)
	} else {
		p.log.Error("a handler panicked", "procedure", c.Proc, "core", c.Core, "peer", c.Peer.Addr,
			"panic", v, "not-logged-before", p.silent.Swap(0), "stack", string(debug.Stack()))
	}
	return &Error{Code: CodePanic, Text: fmt.Sprintf("the handler of procedure %d panicked; the server's log says where", c.Proc)}
}
