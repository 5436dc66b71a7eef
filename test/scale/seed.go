package scale

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// SeedVariable names the environment variable that sets the seed.
const SeedVariable = "REMORA_SEED"

// Seed returns the seed in REMORA_SEED or, if that is not set, a random one. It logs the
// seed so that a run can be repeated.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(SeedVariable); text != "" {
		n, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			t.Fatalf("%s: %v", SeedVariable, err)
		}
		seed = n
	}
	t.Logf("%s=%#x", SeedVariable, seed)
	return seed
}
