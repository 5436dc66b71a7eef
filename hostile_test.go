package remora_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
)

// everything calls every operation once.
func everything(ctx context.Context, o ops) map[string]error {
	_, get := o.Get(ctx, "k")
	_, set := o.Set(ctx, "k", []byte("v"), 0)
	_, incr := o.Incr(ctx, "k", 1)
	return map[string]error{
		"get": get, "set": set, "incr": incr, "delete": o.Delete(ctx, "k"), "touch": o.Touch(ctx, "k", time.Second),
	}
}

// Malformed results are errors that say so, whatever bytes they have.
func TestMalformedResults(t *testing.T) {
	var result []byte
	r := newRig(t, "loop")
	r.serve(before(func(_ int, op command.Proc, _, out []byte) ([]byte, error, bool) {
		return append(out, result...), nil, op != command.Hello
	}))
	c, ctx := r.dial(), testContext(t)
	ss := session(t, c)
	for _, result = range [][]byte{
		nil, {0x0F}, {0x40}, {0xFF}, {0x30}, {1, 2, 3, 4, 5, 0}, {1, 2, 3, 4, 5, 6, 0x10}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 0x20},
	} {
		for _, o := range []ops{c, ss} {
			for name, err := range everything(ctx, o) {
				if !errors.Is(err, remora.ErrProtocol) || !errors.Is(err, remora.ErrUnknown) {
					t.Errorf("%T: %s answered by %v: %v", o, name, result, err)
				}
			}
		}
		var failed *remora.MultiError
		if _, err := c.GetMulti(ctx, []string{"a", "b"}); !errors.As(err, &failed) || !errors.Is(err, remora.ErrProtocol) || len(failed.Keys) != 2 {
			t.Errorf("GetMulti answered by %v: %v", result, err)
		}
		if _, err := c.Stats(ctx); !errors.Is(err, remora.ErrProtocol) {
			t.Errorf("stats answered by %v: %v", result, err)
		}
	}
	if n := c.Counters().Reconnects; n != 0 {
		t.Errorf("%d connections were given up", n)
	}
}

// Any bytes as results, of any operation, are survived.
func TestRandomResults(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	r := newRig(t, "loop")
	r.serve(before(func(_ int, op command.Proc, _, out []byte) ([]byte, error, bool) {
		for range rng.IntN(30) {
			out = append(out, byte(rng.Uint32()))
		}
		return append(out, byte(rng.IntN(64))), nil, op != command.Hello
	}))
	c, ctx := r.dial(remora.WithReconnectWait(0)), testContext(t)
	ss := session(t, c, remora.WithReconnectWait(0))
	for range 300 {
		everything(ctx, c)
		everything(ctx, ss)
	}
}

// A call that fails at the server is an error of that call alone.
func TestFailures(t *testing.T) {
	var failure rpc.Error
	r := newRig(t, "loop")
	r.serve(before(func(_ int, op command.Proc, _, out []byte) ([]byte, error, bool) {
		return out, &failure, op != command.Hello && failure.Code != 0
	}))
	c, ctx := r.dial(), testContext(t)
	ss := session(t, c)
	for code, is := range map[uint16]error{
		rpc.CodeFailed: &rpc.Error{Code: rpc.CodeFailed}, rpc.CodeMalformed: remora.ErrProtocol,
		rpc.CodeNoProcedure: remora.ErrUnsupported, rpc.CodeTooLarge: remora.ErrTooLarge, rpc.CodeUser + 7: &rpc.Error{Code: rpc.CodeUser + 7},
	} {
		failure = rpc.Error{Code: code, Text: fmt.Sprint("code ", code)}
		for _, o := range []ops{c, ss} {
			for name, err := range everything(ctx, o) {
				if !errors.Is(err, is) || errors.Is(err, remora.ErrUnknown) {
					t.Errorf("%s, code %d: %v, want %v", name, code, err, is)
				}
			}
		}
	}
	failure = rpc.Error{}
	for _, o := range []ops{c, ss} {
		if err := roundTrip(ctx, o, "k"); err != nil {
			t.Error(err)
		}
	}
}

// The statuses that engines give become errors that programs can tell apart.
func TestStatuses(t *testing.T) {
	var status command.Status
	r := newRig(t, "loop")
	r.serve(before(func(_ int, op command.Proc, _, out []byte) ([]byte, error, bool) {
		return command.AppendStatus(out, status), nil, op != command.Hello
	}))
	c, ctx := r.dial(), testContext(t)
	ss := session(t, c)
	for s, is := range map[command.Status]error{
		command.NotFound: remora.ErrNotFound, command.Exists: remora.ErrExists, command.Changed: remora.ErrChanged,
		command.TooLarge: remora.ErrTooLarge, command.Full: remora.ErrOutOfMemory, command.NotNumber: remora.ErrNotNumber,
		command.Unsupported: remora.ErrUnsupported,
	} {
		status = s
		for _, o := range []ops{c, ss} {
			for name, err := range everything(ctx, o) {
				if !errors.Is(err, is) || errors.Is(err, remora.ErrUnknown) || errors.Is(err, remora.ErrUnavailable) {
					t.Errorf("%s, %v: %v, want %v", name, s, err, is)
				}
			}
		}
	}
}
