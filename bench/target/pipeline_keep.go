//go:build unix

package target

import (
	"errors"
	"strconv"
	"time"
)

// Keeper is a protocol that says how long a value is kept, in whole seconds, and deletes.
type Keeper interface {
	Protocol
	// SetFor is Set of a value that is kept for a time; 0 is without end.
	SetFor(b, key []byte, size int, ttl time.Duration) []byte
	// Delete appends the request that deletes a key. Its answer is Stored, or Miss.
	Delete(b, key []byte) []byte
}

// ErrNoTime is returned where a protocol cannot say what was asked for.
var ErrNoTime = errors.New("the protocol has no time to live, or no delete")

// SetFor is Set of a value that is kept for a time.
func (c *Pipeline) SetFor(key, value []byte, ttl time.Duration) error {
	if ttl == 0 {
		return c.Set(key, value)
	}
	k, ok := c.proto.(Keeper)
	if !ok {
		return ErrNoTime
	}
	c.out = k.SetFor(c.out, key, len(value), ttl)
	return c.value(value)
}

// Delete deletes a key.
func (c *Pipeline) Delete(key []byte) error {
	if t, ok := c.proto.(Text); ok {
		c.out = t.Delete(c.out, key)
		return c.limit()
	}
	k, ok := c.proto.(Keeper)
	if !ok {
		return ErrNoTime
	}
	c.out = k.Delete(c.out, key)
	return c.limit()
}

// aMonth is the longest time that memcached takes for one from now on: above it is a date.
const aMonth = 30 * 24 * time.Hour

func memcachedTime(ttl time.Duration) int64 {
	seconds := int64(ttl / time.Second)
	if ttl > aMonth {
		return time.Now().Unix() + seconds
	}
	return seconds
}

// SetFor implements Keeper.
func (Memcached) SetFor(b, key []byte, size int, ttl time.Duration) []byte {
	b = append(b, "set "...)
	b = append(b, key...)
	b = append(b, " 0 "...)
	b = strconv.AppendInt(b, memcachedTime(ttl), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(size), 10)
	return append(b, crlf...)
}

// Delete implements Keeper.
func (Memcached) Delete(b, key []byte) []byte {
	b = append(b, "delete "...)
	b = append(b, key...)
	return append(b, crlf...)
}

// SetFor implements Keeper.
func (Meta) SetFor(b, key []byte, size int, ttl time.Duration) []byte {
	b = append(b, "ms "...)
	b = append(b, key...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(size), 10)
	b = append(b, " T"...)
	b = strconv.AppendInt(b, memcachedTime(ttl), 10)
	return append(b, crlf...)
}

// Delete implements Keeper.
func (Meta) Delete(b, key []byte) []byte {
	b = append(b, "md "...)
	b = append(b, key...)
	return append(b, crlf...)
}

// SetFor implements Keeper. The time is to stand behind the value, so that SET cannot say it
// here; SETEX has it before.
func (RESP) SetFor(b, key []byte, size int, ttl time.Duration) []byte {
	b = append(b, "*4\r\n$5\r\nSETEX\r\n"...)
	b = append(bulk(b, key), crlf...)
	var digits [20]byte
	b = append(bulk(b, strconv.AppendInt(digits[:0], int64(ttl/time.Second), 10)), "\r\n$"...)
	b = strconv.AppendInt(b, int64(size), 10)
	return append(b, crlf...)
}

// Delete implements Keeper.
func (RESP) Delete(b, key []byte) []byte {
	b = append(b, "*2\r\n$3\r\nDEL\r\n"...)
	return append(bulk(b, key), crlf...)
}

// Delete is like that of a Keeper; the door has no times.
func (Text) Delete(b, key []byte) []byte {
	b = append(b, "DEL "...)
	b = append(b, key...)
	return append(b, crlf...)
}
