package rpc_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/remora-kv/remora/rpc"
)

// A panic is an error of its call, and logged with its stack once a second.
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
	for i, c := range []struct {
		msg  string
		now  int64 // ms
		want error
		logs string // what is logged; empty: nothing
	}{
		{"hello", 0, nil, ""},
		{"fail", 0, fail, ""},
		{"panic", 0, &rpc.Error{Code: rpc.CodePanic}, "of this kind"},
		{"panic", 999, &rpc.Error{Code: rpc.CodePanic}, ""},
		{"panic", 0, &rpc.Error{Code: rpc.CodePanic}, ""},
		{"nil", 1000, &rpc.Error{Code: rpc.CodePanic}, "not-logged-before=2"},
		{"hello", 1001, nil, ""},
	} {
		log.Reset()
		call := rpc.Call{Now: c.now * 1e6, Proc: 7}
		got, err := serve(&call, []byte(c.msg), []byte("> "))
		if !errors.Is(err, c.want) || err == nil && (string(got) != "> "+c.msg || string(call.After) != c.msg) {
			t.Errorf("%d: %q, %q, %v", i, got, call.After, err)
		}
		if errors.Is(err, &rpc.Error{Code: rpc.CodePanic}) && (len(got) != 0 || call.After != nil) {
			t.Errorf("%d: a result %q, %q beside the panic", i, got, call.After)
		}
		if (log.Len() != 0) != (c.logs != "") || !strings.Contains(log.String(), c.logs) || c.logs != "" && !strings.Contains(log.String(), "protect_test.go") {
			t.Errorf("%d: logged %q, want %q", i, log.String(), c.logs)
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
