package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrUsage is wrapped by every error that the user mends.
var ErrUsage = errors.New("cannot be measured as asked")

// Faults collects what is wrong with a configuration. The zero value is ready.
type Faults []error

// Add adds a fault.
func (f *Faults) Add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

// Between adds a fault when v is not between lo and hi, both included.
func (f *Faults) Between(name string, v, lo, hi int) {
	if v < lo || v > hi {
		f.Add("%s %d is not between %d and %d", name, v, lo, hi)
	}
}

// EachBetween is Between of all values.
func (f *Faults) EachBetween(name string, values []int, lo, hi int) {
	for _, v := range values {
		f.Between(name, v, lo, hi)
	}
}

// OneOf adds a fault for each word that is not known.
func (f *Faults) OneOf(name string, words, known []string) {
	for _, w := range words {
		if !slices.Contains(known, w) {
			f.Add("%s %q is unknown: use %s", name, w, strings.Join(known, ", "))
		}
	}
}

// OrDefault makes a list without values one of a default.
func OrDefault[T any](list *[]T, def T) {
	if len(*list) == 0 {
		*list = []T{def}
	}
}

// Err is Join of all faults.
func (f *Faults) Err() error { return UsageError(*f...) }

// UsageError makes one error of several that wraps ErrUsage, nil when there are none.
func UsageError(errs ...error) error {
	err := errors.Join(errs...)
	if err == nil {
		return nil
	}
	return &usageError{err}
}

// usageError is an error of the user's, whose text stands for itself.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() []error { return []error{e.err, ErrUsage} }
