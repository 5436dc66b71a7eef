package text

import (
	"strconv"

	"github.com/remora-kv/remora/internal/command"
)

// Constant answers.
const (
	stored   = "STORED\r\n"
	deleted  = "DELETED\r\n"
	notFound = "NOT_FOUND\r\n"
	bye      = "BYE\r\n"
)

// appendAnswer appends the answer to a command with this result.
func appendAnswer(out []byte, v verb, r *result) []byte {
	if r.err != nil {
		return appendError(out, r.err.Error())
	}
	if v == get {
		if value, _, ok := command.ParsePlain(r.data); ok {
			return appendValue(out, value)
		}
		if item, s, err := command.ParseFound(r.data); err != nil {
			return appendError(out, err.Error())
		} else if s == command.OK {
			return appendValue(out, item.Value)
		}
	}
	status := command.Status(0)
	if n := len(r.data); n != 0 {
		status = command.Status(r.data[n-1])
	}
	return appendStatus(out, v, status)
}

func appendStatus(out []byte, v verb, s command.Status) []byte {
	switch {
	case s == command.OK && v == set:
		return append(out, stored...)
	case s == command.OK:
		return append(out, deleted...)
	case s == command.NotFound:
		return append(out, notFound...)
	case s == command.Full:
		return appendError(out, "the server has no memory for this item")
	case s == command.TooLarge:
		return appendError(out, "the key or the value is longer than the server allows")
	case s == command.Draining:
		return appendError(out, "the server is shutting down")
	}
	return appendError(out, s.String())
}

func appendValue(out, value []byte) []byte {
	out = append(out, "VALUE "...)
	out = strconv.AppendInt(out, int64(len(value)), 10)
	out = append(out, "\r\n"...)
	out = append(out, value...)
	return append(out, "\r\n"...)
}

func appendError(out []byte, text string) []byte {
	out = append(out, "ERROR "...)
	out = append(out, text...)
	return append(out, "\r\n"...)
}
