package bench

import (
	"errors"
	"fmt"
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
