package rpc_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/remora-kv/remora/rpc"
)

// A panic is an error of its call, and logged with its stack.
func TestProtect(t *testing.T) {
	var log bytes.Buffer
	fail := errors.New("a failure")
	serve := rpc.Protect(func(c *rpc.Call, msg, out []byte) ([]byte, error) {
		c.After = msg
		switch string(msg) {
		case "panic":
			panic("of this kind")
		case "nil":
			var p *int
			*p = 1
		case "fail":
			return out, fail
		}
		return append(out, msg...), nil
	}, slog.New(slog.NewTextHandler(&log, nil)))
	for _, c := range []struct {
		msg  string
		want error
		logs string // what is logged; empty: nothing
	}{
		{"hello", nil, ""},
		{"fail", fail, ""},
		{"panic", &rpc.Error{Code: rpc.CodePanic}, "of this kind"},
		{"nil", &rpc.Error{Code: rpc.CodePanic}, "nil pointer"},
		{"hello", nil, ""},
	} {
		log.Reset()
		call := rpc.Call{Proc: 7}
		got, err := serve(&call, []byte(c.msg), []byte("> "))
		if !errors.Is(err, c.want) || err == nil && (string(got) != "> "+c.msg || string(call.After) != c.msg) {
			t.Errorf("%s: %q, %q, %v", c.msg, got, call.After, err)
		}
		if errors.Is(err, &rpc.Error{Code: rpc.CodePanic}) && (len(got) != 0 || call.After != nil) {
			t.Errorf("%s: a result %q, %q beside the panic", c.msg, got, call.After)
		}
		if (log.Len() != 0) != (c.logs != "") || !strings.Contains(log.String(), c.logs) || c.logs != "" && !strings.Contains(log.String(), "protect_test.go") {
			t.Errorf("%s: logged %q, want %q", c.msg, log.String(), c.logs)
		}
	}
}

func BenchmarkProtect(b *testing.B) {
	echo := func(_ *rpc.Call, msg, out []byte) ([]byte, error) { return append(out, msg...), nil }
	for name, serve := range map[string]func(*rpc.Call, []byte, []byte) ([]byte, error){"bare": echo, "protected": rpc.Protect(echo, nil)} {
		b.Run(name, func(b *testing.B) {
			var call rpc.Call
			msg, out := make([]byte, 32), make([]byte, 0, 64)
			for b.Loop() {
				_, _ = serve(&call, msg, out)
			}
		})
	}
}
