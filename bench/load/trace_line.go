package load

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/remora-kv/remora/store"
)

// TraceRecord is one line.
type TraceRecord struct {
	Op   Op     // Get, Put or Delete
	Key  []byte // part of the line
	Size int    // of the value; -1: the line does not say
	TTL  time.Duration
}

// ErrTraceLine is wrapped by what is wrong with a line.
var ErrTraceLine = errors.New("a line that is not understood")

// Limits of what a line may say.
const (
	maxSize = store.MaxValueLimit
	maxTTL  = 100 * 365 * 24 * time.Hour
)

// ParseTraceLine reads one line without its end, into r.
func ParseTraceLine(line []byte, r *TraceRecord) error {
	op, rest, _ := bytes.Cut(line, comma)
	key, rest, _ := bytes.Cut(rest, comma)
	size, ttl, _ := bytes.Cut(rest, comma)
	r.Key, r.Size, r.TTL = key, -1, 0
	switch string(op) {
	case "get":
		r.Op = Get
	case "set":
		r.Op = Put
	case "del":
		r.Op = Delete
	default:
		return fmt.Errorf("%w: operation %q: use get, set or del", ErrTraceLine, op)
	}
	if err := checkKey(key); err != nil {
		return err
	}
	if len(size) != 0 {
		n, err := number(size, maxSize)
		if err != nil {
			return fmt.Errorf("%w: size %q: it is 0 to %d bytes", ErrTraceLine, size, maxSize)
		}
		r.Size = n
	} else if r.Op == Put {
		return fmt.Errorf("%w: a set without a size", ErrTraceLine)
	}
	if len(ttl) != 0 {
		n, err := number(ttl, int(maxTTL/time.Second))
		if err != nil {
			return fmt.Errorf("%w: ttl %q: it is 0 to %d seconds", ErrTraceLine, ttl, int(maxTTL/time.Second))
		}
		r.TTL = time.Duration(n) * time.Second
	}
	return nil
}

var comma = []byte(",")

// checkKey refuses keys that some protocol could not carry.
func checkKey(key []byte) error {
	if len(key) == 0 || len(key) > store.MaxKey {
		return fmt.Errorf("%w: a key of %d bytes: it has 1 to %d", ErrTraceLine, len(key), store.MaxKey)
	}
	for _, c := range key {
		if c <= ' ' || c == 0x7f || c == '"' {
			return fmt.Errorf("%w: byte %q in a key: neither spaces, control characters nor quotes may be", ErrTraceLine, c)
		}
	}
	return nil
}

// number reads digits, without allocating anything.
func number(text []byte, most int) (n int, err error) {
	const enough = 12 // digits for the largest that is allowed anywhere
	if len(text) > enough {
		return 0, strconv.ErrRange
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, strconv.ErrSyntax
		}
		n = 10*n + int(c-'0')
	}
	if n > most {
		return 0, strconv.ErrRange
	}
	return n, nil
}
