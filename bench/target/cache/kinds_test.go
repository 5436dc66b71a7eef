package cache

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/bench/target"
	"github.com/remora-kv/remora/rpc"
)

func TestKinds(t *testing.T) {
	for want, err := range map[string]error{
		"too large":                   fmt.Errorf("put: %w", remora.ErrTooLarge),
		"out of memory":               remora.ErrOutOfMemory,
		"server gone":                 &remora.LostError{Err: errors.New("reset")},
		"outcome unknown":             &remora.LostError{Sent: true, Err: errors.New("reset")},
		"timeout":                     &remora.LostError{Sent: true, Err: context.DeadlineExceeded},
		"failed at the server":        &rpc.Error{},
		"SERVER_ERROR out of memory":  target.Answer{Kind: target.Failed, Value: []byte("SERVER_ERROR out of memory")}.Err(),
		"something else":              errors.New("something else"),
		strings.Repeat("é", 32):       errors.New(strings.Repeat("é", 40)),
		"x" + strings.Repeat("é", 31): errors.New("x" + strings.Repeat("é", 40)),
	} {
		if got := kindOf(err); got != want {
			t.Errorf("%v is %q, want %q", err, got, want)
		}
	}
	m := median{}
	m.Row.ErrorsByKind = map[string]uint64{"b": 1, "a": 1, "c": 3}
	if got := kindsText(&m); got != "3 c, 1 a, 1 b" {
		t.Errorf("the table says %q", got)
	}
}
