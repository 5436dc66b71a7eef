package rpc_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/remora-kv/remora/rpc"
)

func TestMuxCallsTheHandlerOfTheProcedure(t *testing.T) {
	var m rpc.Mux
	for _, proc := range []uint16{0, 1, 200, rpc.MaxProc} {
		m.Handle(proc, func(c *rpc.Call, out []byte) ([]byte, error) {
			return fmt.Appendf(out, "%d %d %q", proc, c.Proc, c.Request), nil
		})
	}
	for _, c := range []struct{ msg, want string }{
		{"\x00\x00", `> 0 0 ""`},
		{"\x01\x00one", `> 1 1 "one"`},
		{"\xC8\x00x", `> 200 200 "x"`},
		{"\xFF\x00\x00", `> 255 255 "\x00"`},
	} {
		var call rpc.Call
		if out, err := m.Serve(&call, []byte(c.msg), []byte("> ")); err != nil || string(out) != c.want {
			t.Errorf("%q: %q, %v instead of %q", c.msg, out, err, c.want)
		}
	}
}

func TestMuxRefusesWhatIsNoCall(t *testing.T) {
	var m, empty rpc.Mux
	m.Handle(2, func(*rpc.Call, []byte) ([]byte, error) { return nil, io.EOF })
	for _, c := range []struct {
		mux  *rpc.Mux
		msg  string
		want error
	}{
		{&m, "", &rpc.Error{Code: rpc.CodeMalformed}},
		{&m, "\x02", &rpc.Error{Code: rpc.CodeMalformed}},
		{&m, "\x00\x00", &rpc.Error{Code: rpc.CodeNoProcedure}},
		{&m, "\x03\x00", &rpc.Error{Code: rpc.CodeNoProcedure}},
		{&m, "\x02\x01", &rpc.Error{Code: rpc.CodeNoProcedure}},
		{&m, "\x02\x00", io.EOF},
		{&empty, "\x00\x00", &rpc.Error{Code: rpc.CodeNoProcedure}},
	} {
		if _, err := c.mux.Serve(&rpc.Call{}, []byte(c.msg), nil); !errors.Is(err, c.want) {
			t.Errorf("%q: %v instead of %v", c.msg, err, c.want)
		}
	}
}

func TestMuxPanicsOnMisuse(t *testing.T) {
	handler := func(_ *rpc.Call, out []byte) ([]byte, error) { return out, nil }
	var m rpc.Mux
	m.Handle(7, handler)
	for want, f := range map[string]func(){
		"rpc: two handlers for procedure 7": func() { m.Handle(7, handler) },
		"rpc: nil handler for procedure 8":  func() { m.Handle(8, nil) },

		"rpc: procedure 256: the highest is 255": func() { m.Handle(256, handler) },
	} {
		func() {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("panic %v instead of %q", got, want)
				}
			}()
			f()
		}()
	}
}

func TestMuxDoesNotAllocate(t *testing.T) {
	var m rpc.Mux
	m.Handle(1, func(c *rpc.Call, out []byte) ([]byte, error) { return append(out, c.Request...), nil })
	msg, out := []byte("\x01\x00argument"), make([]byte, 0, 64)
	var call rpc.Call
	if n := testing.AllocsPerRun(100, func() { _, _ = m.Serve(&call, msg, out) }); n != 0 {
		t.Errorf("%v allocations for a call", n)
	}
}

func TestErrors(t *testing.T) {
	e := &rpc.Error{Code: 1025, Text: "the disk is full"}
	if e.Error() != "the disk is full" {
		t.Errorf("Error() = %q", e.Error())
	}
	if s := (&rpc.Error{Code: 1025}).Error(); !strings.Contains(s, "code 1025") {
		t.Errorf("an error without text says %q", s)
	}
	wrapped := fmt.Errorf("while storing: %w", e)
	if !errors.Is(wrapped, &rpc.Error{Code: 1025}) || errors.Is(wrapped, &rpc.Error{Code: 1026}) || errors.Is(wrapped, io.EOF) {
		t.Error("errors.Is goes by something else than the code")
	}
}

func TestFailure(t *testing.T) {
	e := &rpc.Error{Code: 1025, Text: "the disk is full"}
	for _, c := range []struct {
		err  error
		code uint16
		text string
	}{
		{e, 1025, "the disk is full"},
		{fmt.Errorf("while storing: %w", e), 1025, "the disk is full"},
		{io.EOF, rpc.CodeFailed, "EOF"},
		{&rpc.Error{Code: 5}, 5, ""},
	} {
		if code, text := rpc.Failure(c.err); code != c.code || text != c.text {
			t.Errorf("%v became %d %q", c.err, code, text)
		}
	}
}
