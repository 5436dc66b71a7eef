package store_test

import (
	"errors"
	"testing"

	"github.com/remora-kv/remora/store"
)

// TestMet tries each condition on a key that does not exist, and on items of two
// versions.
func TestMet(t *testing.T) {
	for _, c := range []struct {
		name              string
		condition         store.Condition
		absent, at7, at42 error
	}{
		{"zero value", store.Condition{}, nil, nil, nil},
		{"always", store.Always(), nil, nil, nil},
		{"if absent", store.IfAbsent(), nil, store.ErrExists, store.ErrExists},
		{"if present", store.IfPresent(), store.ErrNotFound, nil, nil},
		{"if version 7", store.IfVersion(7), store.ErrNotFound, nil, store.ErrVersion},
		{"if version 42", store.IfVersion(42), store.ErrNotFound, store.ErrVersion, nil},
		{"if version 0", store.IfVersion(0), store.ErrNotFound, store.ErrVersion, store.ErrVersion},
		{"if the last version", store.IfVersion(store.MaxVersion), store.ErrNotFound, store.ErrVersion, store.ErrVersion},
	} {
		for _, s := range []struct {
			version uint64
			want    error
		}{{0, c.absent}, {7, c.at7}, {42, c.at42}} {
			if got := c.condition.Met(s.version); !errors.Is(got, s.want) || (got == nil) != (s.want == nil) {
				t.Errorf("%s at version %d: got %v, want %v", c.name, s.version, got, s.want)
			}
		}
	}
	if err := store.IfVersion(store.MaxVersion).Met(store.MaxVersion); err != nil {
		t.Errorf("the last version: %v", err)
	}
}

// TestConditionsDiffer checks that conditions are comparable and distinct.
func TestConditionsDiffer(t *testing.T) {
	all := []store.Condition{store.Always(), store.IfAbsent(), store.IfPresent(), store.IfVersion(1), store.IfVersion(2)}
	for i, a := range all {
		for j, b := range all {
			if (a == b) != (i == j) {
				t.Errorf("conditions %d and %d are equal: %v", i, j, a == b)
			}
		}
	}
}

// TestErrorsDiffer checks that no error matches another.
func TestErrorsDiffer(t *testing.T) {
	all := []error{
		store.ErrNotFound, store.ErrExists, store.ErrVersion, store.ErrTooLarge,
		store.ErrFull, store.ErrNotNumber, store.ErrCorrupt,
	}
	for i, a := range all {
		for j, b := range all {
			if errors.Is(a, b) != (i == j) {
				t.Errorf("%v is %v", a, b)
			}
		}
	}
}
