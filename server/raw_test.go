package server_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/test/cachetest"
)

// raw connects with a core without the client's manners.
func (r *rig) raw(core int) *rfp.Conn {
	r.t.Helper()
	addr, err := fabric.ParseAddr(r.url)
	if err != nil {
		r.t.Fatal(err)
	}
	c, err := rfp.Dial(testContext(r.t), addr, rfp.ConnConfig{Device: r.device(), Core: core})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// request is a message that calls a procedure.
func request(op command.Proc, arg []byte) []byte {
	return append(binary.LittleEndian.AppendUint16(nil, uint16(op)), arg...)
}

// try sends a message and returns a copy of its result, or how the call failed.
func try(c *rfp.Conn, msg []byte) ([]byte, error) {
	if err := c.Send(0, msg); err != nil {
		return nil, err
	}
	if err := c.Flush(); err != nil {
		return nil, err
	}
	if !c.Wait(cachetest.Watchdog) {
		return nil, fmt.Errorf("no result: %w", c.Err())
	}
	result, err, ok := c.Next()
	if !ok {
		return nil, fmt.Errorf("no result: %w", c.Err())
	}
	return append([]byte(nil), result...), err
}

// ask is try for a connection that must not end.
func ask(t testing.TB, c *rfp.Conn, msg []byte) ([]byte, error) {
	t.Helper()
	result, err := try(c, msg)
	if c.Err() != nil {
		t.Fatalf("the connection has ended: %v", c.Err())
	}
	return result, err
}

// askStatus is ask for a result that must have a status, and returns that.
func askStatus(t testing.TB, c *rfp.Conn, op command.Proc, arg []byte) command.Status {
	t.Helper()
	result, err := ask(t, c, request(op, arg))
	if err != nil {
		t.Fatalf("%v: %v", op, err)
	}
	if len(result) == 0 {
		t.Fatalf("%v has an empty result", op)
	}
	return command.Status(result[len(result)-1] & 0x0F)
}

// refusedAs reports whether a call failed at the server with a code.
func refusedAs(err error, code uint16) bool {
	var e *rpc.Error
	return errors.As(err, &e) && e.Code == code
}
