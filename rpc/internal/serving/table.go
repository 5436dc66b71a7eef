package serving

import "iter"

// Table has the sessions of a core by the IDs that work requests and completions carry. An
// ID is never used again for another session while a completion could name it. The zero
// value is an empty table.
type Table[T any] struct {
	entries []entry[T]
	free    []uint32 // places without a session
	last    uint32   // number of the last session
}

type entry[T any] struct {
	session *T
	number  uint32
}

// IDBits is how many bits of an ID a table uses; the path may use the others.
const IDBits = 56

// Add puts a session into the table and returns its ID.
func (t *Table[T]) Add(s *T) uint64 {
	place := uint32(len(t.entries))
	if n := len(t.free); n != 0 {
		place, t.free = t.free[n-1], t.free[:n-1]
	} else {
		t.entries = append(t.entries, entry[T]{})
	}
	t.last++
	t.entries[place] = entry[T]{s, t.last}
	return uint64(place)<<32 | uint64(t.last)
}

// Of returns the session of an ID, nil when it is gone.
func (t *Table[T]) Of(id uint64) *T {
	if place := id >> 32; place < uint64(len(t.entries)) {
		if e := &t.entries[place]; e.number == uint32(id) {
			return e.session
		}
	}
	return nil
}

// Remove takes the session of an ID out.
func (t *Table[T]) Remove(id uint64) {
	if t.Of(id) != nil {
		t.entries[id>>32].session = nil
		t.free = append(t.free, uint32(id>>32))
	}
}

// Len returns how many sessions there are.
func (t *Table[T]) Len() int { return len(t.entries) - len(t.free) }

// From yields the sessions from a place on, with their places.
func (t *Table[T]) From(place int) iter.Seq2[*T, int] {
	return func(yield func(*T, int) bool) {
		for i := place; i < len(t.entries); i++ {
			if s := t.entries[i].session; s != nil && !yield(s, i) {
				return
			}
		}
	}
}

// All yields every session. The loop may remove the one that it has.
func (t *Table[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range t.entries {
			if s := t.entries[i].session; s != nil && !yield(s) {
				return
			}
		}
	}
}
