package cache

import (
	"errors"
	"testing"
)

// The memory of a number of items is found for engines of all sorts, in few attempts.
func TestSearchForAMemory(t *testing.T) {
	const page = 4096
	for name, engine := range map[string]func(memory int64) int64{
		"items alone":   func(m int64) int64 { return m / 72 },
		"pages":         func(m int64) int64 { return m / page * page / 72 },
		"a fixed part":  func(m int64) int64 { return max(0, m-50_000) / 1080 },
		"large buckets": func(m int64) int64 { return m / (100 * 80) * 100 },
		"a large index": func(m int64) int64 { return (m - m/3) / 60 },
		"full":          func(m int64) int64 { return min(m/72, 200_000) },
	} {
		for _, want := range []int64{2_000, 20_000, 100_000, 200_000} {
			tries := 0
			best, err := search(want, 64<<10, 120*want, func(m int64) (int64, error) {
				tries++
				return engine(m), nil
			})
			if off := best.miss(want); err != nil || off > max(want/nearEnough, 100) || best.items != engine(best.memory) || tries > mostAttempts {
				t.Errorf("%s: for %d items %+v after %d attempts, %v", name, want, best, tries, err)
			}
		}
	}
}

// The smallest memory may hold too much, and what fails ends the search.
func TestSearchInVain(t *testing.T) {
	best, err := search(10, 64<<10, 64<<10, func(m int64) (int64, error) { return m / 72, nil })
	if err != nil || best.memory != 64<<10 || best.items != 910 {
		t.Errorf("%+v, %v", best, err)
	}
	broken := errors.New("no server")
	if _, err := search(10, 64<<10, 64<<10, func(int64) (int64, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("a failure became %v", err)
	}
}
