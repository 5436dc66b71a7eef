package rpc

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// Protect returns a function that calls serve, and whose call fails with CodePanic if serve
// panics. The panic is logged with its stack. Servers protect their handlers so that one
// request does not end all others.
func Protect(serve func(c *Call, msg, out []byte) ([]byte, error), log *slog.Logger) func(c *Call, msg, out []byte) ([]byte, error) {
	return func(c *Call, msg, out []byte) (res []byte, err error) {
		defer recovered(c, log, &res, &err)
		return serve(c, msg, out)
	}
}

// recovered makes a panic the error of a call.
func recovered(c *Call, log *slog.Logger, res *[]byte, err *error) {
	if v := recover(); v != nil {
		*res, *err = nil, Panicked(c, log, v)
	}
}

// Panicked logs that a handler panicked with v, and returns the error of its call. The
// deferred function that has recovered v calls it.
func Panicked(c *Call, log *slog.Logger, v any) error {
	c.After = nil
	log.Error("a handler panicked", "procedure", c.Proc, "core", c.Core, "peer", c.Peer.Addr, "panic", v, "stack", string(debug.Stack()))
	return &Error{Code: CodePanic, Text: fmt.Sprintf("the handler of procedure %d panicked; the server's log says where", c.Proc)}
}
