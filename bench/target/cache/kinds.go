package cache

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/bench/target"
	"github.com/remora-kv/remora/rpc"
)

// kindsOfOurs are the kinds of Remora's errors. An operation without an answer may be two of
// them: what it waited for says more than that it is lost.
var kindsOfOurs = []struct {
	err  error
	kind string
}{
	{remora.ErrTooLarge, "too large"},
	{remora.ErrOutOfMemory, "out of memory"},
	{remora.ErrUnsupported, "unsupported"},
	{remora.ErrInvalid, "invalid"},
	{context.DeadlineExceeded, "timeout"},
	{os.ErrDeadlineExceeded, "timeout"},
	{remora.ErrUnavailable, "server gone"},
	{remora.ErrUnknown, "outcome unknown"},
	{remora.ErrProtocol, "broken protocol"},
}

// kindOf names the kind of an error: of Remora's which it is, of others the word of the
// server.
func kindOf(err error) string {
	var said target.Refusal
	if errors.As(err, &said) {
		return brief(string(said))
	}
	for _, k := range kindsOfOurs {
		if errors.Is(err, k.err) {
			return k.kind
		}
	}
	var failed *rpc.Error
	if errors.As(err, &failed) {
		return "failed at the server"
	}
	return brief(err.Error())
}

// longestKind bounds what a server says to be told in a row.
const longestKind = 64

func brief(text string) string {
	if len(text) <= longestKind {
		return text
	}
	text = text[:longestKind]
	for !utf8.ValidString(text) && len(text) > longestKind-utf8.UTFMax {
		text = text[:len(text)-1]
	}
	return text
}

// kindsText writes errors by their kind, most of all first.
func kindsText(m *median) string {
	kinds := slices.SortedFunc(maps.Keys(m.Row.ErrorsByKind), func(a, b string) int {
		if na, nb := m.Row.ErrorsByKind[a], m.Row.ErrorsByKind[b]; na != nb {
			return cmpMore(na, nb)
		}
		return strings.Compare(a, b)
	})
	var out []string
	for _, kind := range kinds {
		out = append(out, fmt.Sprintf("%d %s", m.Row.ErrorsByKind[kind], kind))
	}
	return strings.Join(out, ", ")
}

// cmpMore puts more before less.
func cmpMore(a, b uint64) int {
	if a > b {
		return -1
	}
	return 1
}
