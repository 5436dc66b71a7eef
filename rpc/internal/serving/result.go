package serving

import (
	"fmt"
	"unicode/utf8"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/wire"
)

// InPlace reports whether res, which a handler has returned, is what it appended to out.
func InPlace(res, out []byte) bool {
	return len(res) <= cap(out) && (len(res) == 0 || &res[0] == &out[:1][0])
}

// Failure appends the failure of a call to out, as much of it as there is room for, and
// counts it.
func (c *Core) Failure(out []byte, err error, room int) []byte {
	fence.Count(&c.Failures, 1)
	code, text := rpc.Failure(err)
	if code == rpc.CodePanic {
		fence.Count(&c.Panics, 1)
	}
	return wire.AppendFailure(out, code, cut(text, room-2))
}

// cut returns as much of a text as n bytes hold, without a part of a character at its end.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	end := n
	for end > max(0, n-utf8.UTFMax) && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// Result has what a handler returned, with Call.After behind it, where out is. A result
// for which there is no room is a failure, like an error.
func (c *Core) Result(out, res []byte, err error) (result []byte, failed bool) {
	if n := len(res) + len(c.Call.After); err == nil && n > cap(out) {
		err = &rpc.Error{Code: rpc.CodeTooLarge, Text: fmt.Sprintf(
			"%s: result of %d bytes, replies hold %d: use another path", c.acceptor.cfg.Path, n, cap(out))}
	}
	if err != nil {
		return c.Failure(out, err, cap(out)), true
	}
	if !InPlace(res, out) {
		out = append(out, res...)
	}
	return append(out[:len(res)], c.Call.After...), false
}
