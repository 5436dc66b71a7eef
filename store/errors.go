package store

import "errors"

var (
	// ErrNotFound reports that there is no such item.
	ErrNotFound = errors.New("store: no such item")
	// ErrExists reports that IfAbsent found an item.
	ErrExists = errors.New("store: the item exists")
	// ErrVersion reports that the item does not have the version of IfVersion.
	ErrVersion = errors.New("store: the item has changed")
	// ErrTooLarge reports that a key or a value is longer than its limit.
	ErrTooLarge = errors.New("store: the key or the value is too large")
	// ErrFull reports that there is no memory for the item.
	ErrFull = errors.New("store: out of memory")
	// ErrNotNumber reports that a value is not a counter (Incr).
	ErrNotNumber = errors.New("store: the value is not a decimal number that fits into 64 bits")
	// ErrCorrupt reports that the memory of the engine violates its invariants.
	ErrCorrupt = errors.New("store: corrupt")
)
