package load

import (
	"math"
	"testing"
)

func TestPowersAreRightToTenDigits(t *testing.T) {
	r := NewRandom(1, 0)
	for range 100_000 {
		x := math.Exp((r.float() - 0.5) * 1000)
		if got, want := logarithm(x), math.Log(x); math.Abs(got-want) > 1e-10*max(1, math.Abs(want)) {
			t.Fatalf("the logarithm of %v is %v, want %v", x, got, want)
		}
		y := 1 + (r.float()-0.5)*1e-3
		if got, want := logarithm(y), math.Log(y); math.Abs(got-want) > 1e-15 {
			t.Fatalf("the logarithm of %v is %v, want %v", y, got, want)
		}
		z := (r.float() - 0.5) * 1000
		if got, want := exponential(z), math.Exp(z); math.Abs(got-want) > 1e-10*want {
			t.Fatalf("the exponential of %v is %v, want %v", z, got, want)
		}
	}
	if exponential(-1e9) > 1e-300 || exponential(1e9) < 1e300 || logarithm(1) != 0 || exponential(0) != 1 {
		t.Error("at the ends they are wrong")
	}
}
