package bench

import (
	"errors"
	"io"
	"testing"
)

func TestFaults(t *testing.T) {
	var f Faults
	f.Between("--size", 1, 1, 9)
	f.Between("--size", 9, 1, 9)
	if err := f.Err(); err != nil {
		t.Errorf("nothing is wrong, and %v", err)
	}
	f.Between("--size", 10, 1, 9)
	f.Add("--file: %w", io.EOF)
	err := f.Err()
	if !errors.Is(err, ErrUsage) || !errors.Is(err, io.EOF) || err.Error() != "--size 10 is not between 1 and 9\n--file: EOF" {
		t.Errorf("two faults became %v", err)
	}
}
