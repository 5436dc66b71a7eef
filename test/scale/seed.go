package scale

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// SeedVariable holds the seed of a test that is to be repeated.
const SeedVariable = "REMORA_SEED"

// Seed returns a seed for the choices of a test, another one in every run, and says in
// the log of the test how to have the same again.
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
