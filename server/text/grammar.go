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

// MaxLine is the length of the longest line: the longest key fits, with a verb.
const MaxLine = command.MaxKey + 64

// request is a command. Key and value lie in the input.
type request struct {
	verb       verb
	key, value []byte
}

// fault is an error in a command.
type fault struct {
	text string
	last bool // it is not known where the next command begins
	skip int  // bytes behind the line that belong to it
}

// Faults that say what to do.
var (
	faultEmpty   = &fault{text: "an empty line: use GET key, SET key value, DEL key or QUIT"}
	faultVerb    = &fault{text: "no such command: use GET key, SET key value, DEL key or QUIT"}
	faultKey     = &fault{text: "a key has 1 to 65535 bytes, and neither spaces nor control characters"}
	faultGet     = &fault{text: "GET takes a key and nothing else"}
	faultDel     = &fault{text: "DEL takes a key and nothing else"}
	faultQuit    = &fault{text: "QUIT takes nothing else"}
	faultSet     = &fault{text: "SET takes a key and a value; an empty one is {0} with an empty line behind it"}
	faultLine    = &fault{text: fmt.Sprintf("a line has at most %d bytes: send a long value as {length} with the value in the next line", MaxLine), last: true}
	faultLength  = &fault{text: "the length of a value is a number between 0 and 2147483647", last: true}
	faultLineEnd = &fault{text: "a value is not as long as was said: behind it comes the end of a line", last: true}
)

// parse reads the first command in b. It returns how many bytes that is; 0 when it is not
// whole yet, and then want is how many it will have at least. A fault takes the place of
// a command.
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

// verbOf knows a verb in either case.
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

// is compares a word with one in lower case.
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

// oneKey returns what is wrong with a line that should be a key and nothing else.
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

// parseSet reads a key and a value: the rest of the line, or a length in braces and the
// value behind the line.
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

// longest is the largest number that is taken for a length.
const longest = 1<<31 - 1

// length reads digits.
func length(digits []byte) (n int, ok bool) {
	for _, c := range digits {
		if n = 10*n + int(c-'0'); n > longest {
			return 0, false
		}
	}
	return n, true
}

// lineEnd returns how long the end of a line at b[at:] is, 0 when it is not there or
// something else is.
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

// tooLong is a value that the server does not take. Its bytes are skipped.
func tooLong(size, most, skip int) *fault {
	return &fault{text: fmt.Sprintf("a value of %d bytes: this server takes up to %d", size, most), skip: skip}
}
