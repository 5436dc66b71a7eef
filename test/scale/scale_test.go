package scale

import (
	"slices"
	"testing"
)

func TestAgain(t *testing.T) {
	for emulator, want := range map[string][]string{
		"":             {"/bin/x", "-test.v"},
		"qemu-aarch64": {"qemu-aarch64", "/bin/x", "-test.v"},
	} {
		t.Setenv(Emulator, emulator)
		if got := Again(t.Context(), "/bin/x", "-test.v").Args; !slices.Equal(got, want) {
			t.Errorf("with the emulator %q the command is %q, want %q", emulator, got, want)
		}
	}
}

func TestTimes(t *testing.T) {
	defer func(f, d int) { factor, divisor = f, d }(factor, divisor)
	for _, c := range []struct{ factor, divisor, n, want int }{
		{1, 1, 100, 100}, {1, 4, 100, 25}, {1, 4, 12, 5}, {1, 4, 3, 3}, {1, 4, 1, 1}, {10, 4, 100, 250}, {10, 1, 1, 10},
	} {
		factor, divisor = c.factor, c.divisor
		if got := Times(c.n); got != c.want {
			t.Errorf("factor %d, divisor %d: %d times became %d, want %d", c.factor, c.divisor, c.n, got, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string][2]int{"": {1, 1}, "20": {20, 1}, "1/4": {1, 4}} {
		f, d, err := parse(text)
		if err != nil || [2]int{f, d} != want {
			t.Errorf("%q: %d/%d, %v, want %v", text, f, d, err, want)
		}
	}
	for _, text := range []string{"0", "-1", "many", "1/0", "1/", "1/2/3"} {
		if _, _, err := parse(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}
