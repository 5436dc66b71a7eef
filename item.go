package remora

import (
	"fmt"
	"time"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/store"
)

// MaxKey is the length of the longest key. A key may be empty, and be any bytes.
const MaxKey = command.MaxKey

// Item is what is stored under a key.
type Item struct {
	Value []byte
	// Version is another one after each change of the item, and never 0. It is
	// what CAS compares.
	Version uint64
	// Flags are the program's own; the server keeps them.
	Flags uint32
	// TTL is how long the item will be there; 0 is without end.
	TTL time.Duration
}

// Entry is what Put stores.
type Entry struct {
	Value []byte
	// Flags are the program's own; the server keeps them.
	Flags uint32
	// TTL is how long the item may be got: 0 is without end, what is less than a
	// millisecond becomes one, and negative is ErrInvalid.
	TTL time.Duration
}

// Condition says on which state of a key Put changes it.
type Condition struct {
	kind    command.Condition
	version uint64
}

// Always stores whatever is there. It is the zero Condition.
func Always() Condition { return Condition{} }

// IfAbsent stores only under a key that is not there; else ErrExists.
func IfAbsent() Condition { return Condition{kind: command.IfAbsent} }

// IfPresent stores only under a key that is there; else ErrNotFound.
func IfPresent() Condition { return Condition{kind: command.IfPresent} }

// IfVersion stores only over an item of this version: ErrNotFound if there is
// none, ErrChanged if it has another. Version 0 is that of no item and ErrInvalid.
func IfVersion(version uint64) Condition {
	return Condition{kind: command.IfVersion, version: version}
}

// checkKey refuses keys that no server takes.
func checkKey(key string) error {
	if len(key) > MaxKey {
		return longKey(key)
	}
	return nil
}

func longKey(key string) error {
	return fmt.Errorf("%w: a key of %d bytes, the longest has %d: hash it", ErrTooLarge, len(key), MaxKey)
}

func checkVersion(version uint64) error {
	if version == 0 || version > store.MaxVersion {
		return fmt.Errorf("%w: version %d is that of no item: take it from Get or from a change", ErrInvalid, version)
	}
	return nil
}

// millis is a time to live as it travels.
func millis(ttl time.Duration) (uint64, error) {
	if ttl < 0 {
		return 0, fmt.Errorf("%w: a time to live of %v is negative: use 0 for no end, or Delete", ErrInvalid, ttl)
	}
	ms := uint64(ttl / time.Millisecond)
	if ttl%time.Millisecond != 0 {
		ms++
	}
	return ms, nil
}

// duration is the inverse; what is too long to be told is the longest.
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

// read reads the result of a get that found an item; false when it is another. The
// value aliases the result.
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

// errMalformed is a result that is none.
var errMalformed = fmt.Errorf("a result that is none: %w", ErrProtocol)
