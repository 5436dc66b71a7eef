package target

import (
	"bytes"
	"strconv"
)

// Text is the protocol of Remora's own text door.
type Text struct{}

// Get implements Protocol.
func (Text) Get(b, key []byte) []byte {
	b = append(b, "GET "...)
	b = append(b, key...)
	return append(b, crlf...)
}

// Set implements Protocol.
func (Text) Set(b, key []byte, size int) []byte {
	b = append(b, "SET "...)
	b = append(b, key...)
	b = append(b, " {"...)
	b = strconv.AppendInt(b, int64(size), 10)
	return append(b, "}\r\n"...)
}

// Answer implements Protocol: STORED, NOT_FOUND or
//
//	VALUE <bytes>
//	<value>
func (Text) Answer(b []byte) (a Answer, size, want int, err error) {
	text, next := line(b)
	if next == 0 {
		return partial(b)
	}
	digits, found := bytes.CutPrefix(text, []byte("VALUE "))
	switch {
	case found:
		return value(b, digits, next, "\r\n")
	case string(text) == "NOT_FOUND":
		return Answer{Kind: Miss}, next, 0, nil
	case string(text) == "STORED", string(text) == "DELETED":
		return Answer{Kind: Stored}, next, 0, nil
	}
	return Answer{Kind: Failed, Value: text}, next, 0, nil
}
