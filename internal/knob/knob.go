// Package knob has what the configurations are checked with: those of paths, of the server and of benchmarks.
package knob

import "fmt"

// Default sets what was left at its zero value.
func Default[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// Between returns an error unless lo <= v <= hi.
func Between(what string, v, lo, hi int) error {
	if v < lo || v > hi {
		return fmt.Errorf("%s is %d, must be %d to %d", what, v, lo, hi)
	}
	return nil
}
