package target

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// Kind is what an answer says.
type Kind uint8

// The kinds.
const (
	Found  Kind = iota + 1 // the value of a get
	Miss                   // there is none
	Stored                 // a set is done
	Failed                 // the server says why not
)

// Answer is that of one request, in the order of the requests.
type Answer struct {
	Kind Kind
	// Value is that of a get, or the text of a failure. It is valid until the next
	// call of a method of the connection.
	Value []byte
}

// Err is the error of an answer that is a failure.
func (a Answer) Err() error {
	if a.Kind != Failed {
		return nil
	}
	return Refusal(a.Value)
}

// Refusal is what a server says instead of an answer: its words.
type Refusal string

// Error implements error.
func (r Refusal) Error() string { return fmt.Sprintf("the server says %q", string(r)) }

// ErrProtocol is wrapped when a server answers something that is no answer.
var ErrProtocol = errors.New("not an answer")

// Protocol is how requests and answers look.
type Protocol interface {
	// Get appends the request for a key, and Set the one that stores a value of so
	// many bytes up to the value, which is followed by \r\n.
	Get(b, key []byte) []byte
	Set(b, key []byte, size int) []byte
	// Answer reads the first answer in b and returns how long it is; 0 when it is
	// not whole yet, and then want is how many bytes it will have at least.
	Answer(b []byte) (a Answer, size, want int, err error)
}

var crlf = []byte("\r\n")

// line returns the first line without its end, and where the next begins; 0 when it
// is not whole yet.
func line(b []byte) (text []byte, next int) {
	i := bytes.IndexByte(b, '\n')
	if i < 1 {
		return nil, 0
	}
	return b[:i-1], i + 1
}

// longestLine bounds a line, and longestValue a value.
const (
	longestLine  = 4096
	longestValue = 1 << 30
)

// partial is the answer to b when its first line is not whole.
func partial(b []byte) (Answer, int, int, error) {
	if len(b) > longestLine {
		return Answer{}, 0, 0, fmt.Errorf("%w: a line that begins with %q", ErrProtocol, b[:16])
	}
	return Answer{}, 0, len(b) + 1, nil
}

// length reads the length of a value.
func length(b []byte) (int, error) {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' || n > longestValue {
			return 0, fmt.Errorf("%w: a value of %q bytes", ErrProtocol, b)
		}
		n = 10*n + int(c-'0')
	}
	if len(b) == 0 || n > longestValue {
		return 0, fmt.Errorf("%w: a value of %q bytes", ErrProtocol, b)
	}
	return n, nil
}

// value reads the answer with a value of as many bytes as digits say, which begins at next and has
// end behind it.
func value(b, digits []byte, next int, end string) (a Answer, size, want int, err error) {
	n, err := length(digits)
	if err != nil {
		return a, 0, 0, err
	}
	whole := next + n + len(end)
	if len(b) < whole {
		return a, 0, whole, nil
	}
	if string(b[next+n:whole]) != end {
		return a, 0, 0, fmt.Errorf("%w: %q behind a value", ErrProtocol, b[next+n:whole])
	}
	return Answer{Found, b[next : next+n]}, whole, 0, nil
}

// Memcached is the text protocol of memcached.
type Memcached struct{}

// Get implements Protocol.
func (Memcached) Get(b, key []byte) []byte {
	b = append(b, "get "...)
	b = append(b, key...)
	return append(b, crlf...)
}

// Set implements Protocol.
func (Memcached) Set(b, key []byte, size int) []byte {
	b = append(b, "set "...)
	b = append(b, key...)
	b = append(b, " 0 0 "...)
	b = strconv.AppendInt(b, int64(size), 10)
	return append(b, crlf...)
}

// Answer implements Protocol: STORED, END or
//
//	VALUE <key> <flags> <bytes>
//	<value>
//	END
func (Memcached) Answer(b []byte) (a Answer, size, want int, err error) {
	text, next := line(b)
	if next == 0 {
		return partial(b)
	}
	switch {
	case bytes.HasPrefix(text, []byte("VALUE ")):
		return value(b, text[bytes.LastIndexByte(text, ' ')+1:], next, "\r\nEND\r\n")
	case string(text) == "END":
		return Answer{Kind: Miss}, next, 0, nil
	case string(text) == "STORED", string(text) == "DELETED":
		return Answer{Kind: Stored}, next, 0, nil
	case string(text) == "NOT_FOUND":
		return Answer{Kind: Miss}, next, 0, nil
	}
	return Answer{Kind: Failed, Value: text}, next, 0, nil
}

// RESP is the protocol of Redis.
type RESP struct{}

// Get implements Protocol.
func (RESP) Get(b, key []byte) []byte {
	b = append(b, "*2\r\n$3\r\nGET\r\n"...)
	return append(bulk(b, key), crlf...)
}

// Set implements Protocol.
func (RESP) Set(b, key []byte, size int) []byte {
	b = append(b, "*3\r\n$3\r\nSET\r\n"...)
	b = append(bulk(b, key), "\r\n$"...)
	b = strconv.AppendInt(b, int64(size), 10)
	return append(b, crlf...)
}

// bulk appends a string with its length, without the end.
func bulk(b, s []byte) []byte {
	b = append(b, '$')
	b = strconv.AppendInt(b, int64(len(s)), 10)
	b = append(b, crlf...)
	return append(b, s...)
}

// Answer implements Protocol: +OK, $-1, $<bytes> and the value, or -<reason>.
func (RESP) Answer(b []byte) (a Answer, size, want int, err error) {
	text, next := line(b)
	switch {
	case next == 0:
		return partial(b)
	case len(text) == 0:
		return a, 0, 0, fmt.Errorf("%w: an empty line", ErrProtocol)
	case text[0] == '+', string(text) == ":1":
		return Answer{Kind: Stored}, next, 0, nil
	case string(text) == ":0":
		return Answer{Kind: Miss}, next, 0, nil
	case text[0] == '-':
		return Answer{Kind: Failed, Value: text[1:]}, next, 0, nil
	case text[0] != '$':
		return a, 0, 0, fmt.Errorf("%w: %q", ErrProtocol, text)
	case string(text) == "$-1":
		return Answer{Kind: Miss}, next, 0, nil
	}
	return value(b, text[1:], next, "\r\n")
}
