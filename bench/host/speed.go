package host

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/remora-kv/remora/internal/cycles"
)

const (
	speedChain = 20_000
	speedTries = 20
)

// Speed returns the speed of the CPU that it is called on, in steps of the chain in a
// microsecond: of many tries the fastest, so that interruptions do not count. It takes about
// half a millisecond.
func Speed(scale cycles.Scale) float64 {
	best, x := uint64(math.MaxUint64), uint64(1)
	for range speedTries {
		start := cycles.Now()
		for range speedChain {
			x = x*6364136223846793005 + 1442695040888963407
		}
		best = min(best, cycles.Now()-start)
	}
	if x == 0 { // it must not be left out
		return 0
	}
	return speedChain * 1e3 / max(float64(scale.Nanos(best)), 1)
}

// SpeedRange is the slowest and the fastest of several.
type SpeedRange struct{ least, most float64 }

// Add takes one more; 0 is none.
func (r *SpeedRange) Add(x float64) {
	if x == 0 {
		return
	}
	if r.most == 0 || x < r.least {
		r.least = x
	}
	r.most = max(r.most, x)
}

// Join takes those of another range.
func (r *SpeedRange) Join(o SpeedRange) {
	r.Add(o.least)
	r.Add(o.most)
}

// steady is by how much the speed may change.
const steadySpeed = 0.1

// Doubt says that it has changed too much; empty if it has not.
func (r *SpeedRange) Doubt() string {
	if r.most == 0 || r.most-r.least <= steadySpeed*r.most {
		return ""
	}
	return fmt.Sprintf("the CPU was up to %.0f %% slower in some trials than in others: fix its frequency (cpupower frequency-set -g performance, no turbo) or let it cool, and use more --trials",
		100*(1-r.least/r.most))
}

// Throttled returns how often the kernel has seen these CPUs slowed down because of heat;
// an error where it does not tell.
func Throttled(cpus []int) (int64, error) {
	return throttled(os.DirFS("/sys/devices/system/cpu"), cpus)
}

func throttled(sys fs.FS, cpus []int) (sum int64, err error) {
	for _, cpu := range cpus {
		for _, what := range []string{"core", "package"} {
			b, err := fs.ReadFile(sys, fmt.Sprintf("cpu%d/thermal_throttle/%s_throttle_count", cpu, what))
			if errors.Is(err, fs.ErrNotExist) && what == "package" {
				continue
			}
			if err != nil {
				return 0, fmt.Errorf("throttling of CPU %d: %w", cpu, err)
			}
			n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("throttling of CPU %d: %w", cpu, err)
			}
			sum += n
		}
	}
	return sum, nil
}
