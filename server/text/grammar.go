package text

import (
	"bytes"
	"fmt"

	"github.com/remora-kv/remora/internal/command"
)

// verb is the kind of a command.
type verb uint8

const (
	get verb = iota + 1
	set
	del
	quit
)

// MaxLine is the length of the longest line: a verb with the longest key fits.
const MaxLine = command.MaxKey + 64

// request is a command. Key and value lie in the input.
type request struct {
	verb       verb
	key, value []byte
}

// fault describes a malformed command.
type fault struct {
	text string
	last bool // the beginning of the next command is unknown
	skip int  // bytes behind the line that belong to the command
}

// The faults say what to do.
var (
	faultEmpty   = &fault{text: "empty line: use GET key, SET key value, DEL key or QUIT"}
	faultVerb    = &fault{text: "no such command: use GET key, SET key value, DEL key or QUIT"}
	faultKey     = &fault{text: "invalid key: use 1 to 65535 bytes without spaces and control characters"}
	faultGet     = &fault{text: "GET takes a key and nothing else"}
	faultDel     = &fault{text: "DEL takes a key and nothing else"}
	faultQuit    = &fault{text: "QUIT takes nothing else"}
	faultSet     = &fault{text: "SET takes a key and a value; write an empty value as {0} followed by an empty line"}
	faultLine    = &fault{text: fmt.Sprintf("a line has at most %d bytes: send a long value as {length} with the value in the next line", MaxLine), last: true}
	faultLength  = &fault{text: "invalid length of a value: use a number from 0 to 2147483647", last: true}
	faultLineEnd = &fault{text: "a value does not end after its announced length: an end of line must follow it", last: true}
)

// parse parses the first command in b and returns its length. If the command is incomplete, n is 0
// and want is its least length. If it is malformed, parse returns a fault.
func parse(b []byte, maxValue int) (r request, n, want int, f *fault) {
	end := bytes.IndexByte(b[:min(len(b), MaxLine+2)], '\n')
	if end < 0 {
		if len(b) > MaxLine+1 {
			return r, len(b), 0, faultLine
		}
		return r, 0, len(b) + 1, nil
	}
	line := bytes.TrimSuffix(b[:end], []byte("\r"))
	word, rest, more := bytes.Cut(line, []byte(" "))
	switch r.verb = verbOf(word); r.verb {
	case get, del:
		if f = oneKey(rest, r.verb); f == nil {
			r.key = rest
		}
	case set:
		return parseSet(b, rest, end+1, maxValue)
	case quit:
		if more {
			f = faultQuit
		}
	default:
		if f = faultVerb; len(line) == 0 {
			f = faultEmpty
		}
	}
	return r, end + 1, 0, f
}

// verbOf returns the verb of a word in any case, or 0.
func verbOf(word []byte) verb {
	switch {
	case is(word, "get"):
		return get
	case is(word, "set"):
		return set
	case is(word, "del"):
		return del
	case is(word, "quit"):
		return quit
	}
	return 0
}

// is reports whether a word equals want, which is in lower case.
func is(word []byte, want string) bool {
	if len(word) != len(want) {
		return false
	}
	for i := range word {
		if word[i]|0x20 != want[i] {
			return false
		}
	}
	return true
}

// oneKey returns a fault unless rest is a key and nothing else.
func oneKey(rest []byte, v verb) *fault {
	if isKey(rest) {
		return nil
	}
	if len(rest) == 0 || bytes.IndexByte(rest, ' ') >= 0 {
		if v == get {
			return faultGet
		}
		return faultDel
	}
	return faultKey
}

func isKey(b []byte) bool {
	for _, c := range b {
		if c <= ' ' || c == 0x7f {
			return false
		}
	}
	return len(b) != 0 && len(b) <= command.MaxKey
}

// parseSet parses a key and a value: the rest of the line, or a length in braces and the
// value after the line.
func parseSet(b, rest []byte, line, maxValue int) (r request, n, want int, f *fault) {
	key, value, _ := bytes.Cut(rest, []byte(" "))
	r = request{verb: set, key: key, value: value}
	if !isLiteral(value) {
		switch {
		case len(key) == 0 || len(value) == 0:
			f = faultSet
		case !isKey(key):
			f = faultKey
		case len(value) > maxValue:
			f = tooLong(len(value), maxValue, 0)
		}
		return r, line, 0, f
	}
	size, ok := length(value[1 : len(value)-1])
	switch {
	case !ok:
		return r, line, 0, faultLength
	case size > maxValue:
		return r, line, 0, tooLong(size, maxValue, size)
	}
	behind, want, f := lineEnd(b, line+size)
	if behind == 0 {
		return r, 0, want, f
	}
	if r.value = b[line : line+size : line+size]; !isKey(key) {
		f = faultKey
	}
	return r, line + size + behind, 0, f
}

// isLiteral reports whether a value is a length in braces.
func isLiteral(value []byte) bool {
	if len(value) < 3 || value[0] != '{' || value[len(value)-1] != '}' {
		return false
	}
	for _, c := range value[1 : len(value)-1] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// longest is the largest length that is accepted.
const longest = 1<<31 - 1

// length parses digits.
func length(digits []byte) (n int, ok bool) {
	for _, c := range digits {
		if n = 10*n + int(c-'0'); n > longest {
			return 0, false
		}
	}
	return n, true
}

// lineEnd returns the length of the end of a line at b[at:]. If it has not arrived, n is 0 and
// want is the least length of b; if there is something else, lineEnd returns a fault.
func lineEnd(b []byte, at int) (n, want int, f *fault) {
	switch {
	case len(b) <= at:
		return 0, at + 1, nil
	case b[at] == '\n':
		return 1, 0, nil
	case b[at] != '\r':
		return 0, 0, faultLineEnd
	case len(b) == at+1:
		return 0, at + 2, nil
	case b[at+1] != '\n':
		return 0, 0, faultLineEnd
	}
	return 2, 0, nil
}

// tooLong returns the fault of a value that exceeds the server's limit. Its bytes are skipped.
func tooLong(size, most, skip int) *fault {
	return &fault{text: fmt.Sprintf("a value of %d bytes: this server takes up to %d", size, most), skip: skip}
}
