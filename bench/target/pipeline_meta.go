package target

import (
	"bytes"
	"strconv"
)

// Meta is the meta protocol of memcached, since its version 1.6: one line less for a value
// than the text protocol has, and no key in it.
type Meta struct{}

// Get implements Protocol. The flag asks for the value.
func (Meta) Get(b, key []byte) []byte {
	b = append(b, "mg "...)
	b = append(b, key...)
	return append(b, " v\r\n"...)
}

// Set implements Protocol.
func (Meta) Set(b, key []byte, size int) []byte {
	b = append(b, "ms "...)
	b = append(b, key...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(size), 10)
	return append(b, crlf...)
}

// Answer implements Protocol: HD of a set, EN of a get that found nothing, or
//
//	VA <bytes> <flags>*
//	<value>
//
// The flags are echoes of what was asked for; here there are none.
func (Meta) Answer(b []byte) (a Answer, size, want int, err error) {
	text, next := line(b)
	if next == 0 {
		return partial(b)
	}
	digits, found := bytes.CutPrefix(text, []byte("VA "))
	switch {
	case found:
		digits, _, _ = bytes.Cut(digits, []byte(" "))
		return value(b, digits, next, "\r\n")
	case isMeta(text, "EN"), isMeta(text, "NF"):
		return Answer{Kind: Miss}, next, 0, nil
	case isMeta(text, "HD"):
		return Answer{Kind: Stored}, next, 0, nil
	}
	return Answer{Kind: Failed, Value: text}, next, 0, nil
}

// isMeta reports whether a line has a code, with or without flags behind it.
func isMeta(text []byte, code string) bool {
	return len(text) >= len(code) && string(text[:len(code)]) == code && (len(text) == len(code) || text[len(code)] == ' ')
}
