package remora

import (
	"fmt"
	"time"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/store"
)

// MaxKey is the length of the longest key that a server can allow; Info.MaxKey is the length that it
// does allow. A key may be empty, and be any bytes.
const MaxKey = command.MaxKey

// Item is an item as the server returns it.
type Item struct {
	Value []byte
	// Version differs after each change of the item, and is never 0. CAS compares it.
	Version uint64
	// Flags belong to the program; the server keeps them.
	Flags uint32
	// TTL is the time until the item expires; 0 means never.
	TTL time.Duration
}

// Entry is what Put stores.
type Entry struct {
	Value []byte
	// Flags belong to the program; the server keeps them.
	Flags uint32
	// TTL is the time until the item expires, rounded up to milliseconds: 0 means
	// never, and negative is ErrInvalid.
	TTL time.Duration
}

// Condition is what Put requires of the present item.
type Condition struct {
	kind    command.Condition
	version uint64
}

// Always requires nothing. It is the zero Condition.
func Always() Condition { return Condition{} }

// IfAbsent requires that there is no item; otherwise ErrExists.
func IfAbsent() Condition { return Condition{kind: command.IfAbsent} }

// IfPresent requires that there is an item; otherwise ErrNotFound.
func IfPresent() Condition { return Condition{kind: command.IfPresent} }

// IfVersion requires an item of this version: ErrNotFound if there is no item,
// ErrChanged if it has another version. No item has version 0, which is ErrInvalid.
func IfVersion(version uint64) Condition {
	return Condition{kind: command.IfVersion, version: version}
}

// checkKey refuses keys that the server would refuse.
func checkKey(key string, w *command.Welcome) error {
	if len(key) > w.MaxKey {
		return longKey(key, w.MaxKey)
	}
	return nil
}

func longKey(key string, most int) error {
	return fmt.Errorf("%w: the key has %d bytes, the server allows %d: hash it, or start the server with a larger limit (--max-key)",
		ErrTooLarge, len(key), most)
}

func checkVersion(version uint64) error {
	if version == 0 || version > store.MaxVersion {
		return fmt.Errorf("%w: no item has version %d: take versions from Get or from a change", ErrInvalid, version)
	}
	return nil
}

// millis is the wire form of a time to live.
func millis(ttl time.Duration) (uint64, error) {
	if ttl < 0 {
		return 0, fmt.Errorf("%w: negative time to live %v: use 0 for no expiry, or Delete", ErrInvalid, ttl)
	}
	ms := uint64(ttl / time.Millisecond)
	if ttl%time.Millisecond != 0 {
		ms++
	}
	return ms, nil
}

// duration is the inverse. Times that are too long become the longest.
func duration(millis uint64) time.Duration {
	const most = uint64(1<<63-1) / uint64(time.Millisecond)
	return time.Duration(min(millis, most)) * time.Millisecond
}

// storeOf is the request of a put without key and value.
func storeOf(e *Entry, cond Condition) (s command.Store, err error) {
	s = command.Store{Condition: cond.kind, Version: cond.version, Flags: e.Flags}
	if cond.kind == command.IfVersion {
		if err = checkVersion(cond.version); err != nil {
			return s, err
		}
	}
	s.TTL, err = millis(e.TTL)
	return s, err
}

// read reads the result of a get that found an item, and returns false for other results.
// The value aliases the result.
func (item *Item) read(result []byte) bool {
	if value, version, ok := command.ParsePlain(result); ok {
		item.Value, item.Version = value, version
		return true
	}
	// Fields are written one by one: to copy what was just written as a whole
	// costs more than to read it.
	var found command.Item
	if status, err := found.Read(result); err != nil || status != command.OK {
		return false
	}
	item.Value, item.Version, item.Flags = found.Value, found.Version, found.Flags
	if found.TTL != 0 {
		item.TTL = duration(found.TTL)
	}
	return true
}
