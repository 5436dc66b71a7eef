package serving

import "fmt"

// Between returns an error unless lo <= v <= hi, for the configuration of a path.
func Between(what string, v, lo, hi int) error {
	if v < lo || v > hi {
		return fmt.Errorf("%s is %d, must be %d to %d", what, v, lo, hi)
	}
	return nil
}
