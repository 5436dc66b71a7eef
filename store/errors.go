package store

import "errors"

var (
	// ErrNotFound says that there is no such item.
	ErrNotFound = errors.New("store: no such item")
	// ErrExists says that there is an item where none was wanted.
	ErrExists = errors.New("store: the item exists")
	// ErrVersion says that the item has another version than was wanted.
	ErrVersion = errors.New("store: the item has changed")
	// ErrTooLarge says that a key or a value is longer than the limit.
	ErrTooLarge = errors.New("store: the key or the value is too large")
	// ErrFull says that there is no memory for the item.
	ErrFull = errors.New("store: out of memory")
	// ErrNotNumber says that a value is not a counter (Incr).
	ErrNotNumber = errors.New("store: the value is not a decimal number that fits into 64 bits")
	// ErrCorrupt says that the memory of the engine breaks its invariants.
	ErrCorrupt = errors.New("store: corrupt")
)
