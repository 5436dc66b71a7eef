package out

import "testing"

func TestUnits(t *testing.T) {
	for us, want := range map[float64]string{
		0: "0.00 ns", 0.0301: "30.1 ns", 0.9999: "1.00 us", 0.999: "999 ns", 1: "1.00 us", 99.94: "99.9 us", 99.96: "100 us",
		1500: "1.50 ms", 2e6: "2.00 s",
	} {
		if got := Micros(us); got != want {
			t.Errorf("Micros(%v) = %q, want %q", us, got, want)
		}
	}
	for x, want := range map[float64]string{0: "0.00", 999: "999", 999.9: "1.00 k", 1000: "1.00 k", 28.8e6: "28.8 M", 3e9: "3.00 G"} {
		if got := SI(x); got != want {
			t.Errorf("SI(%v) = %q, want %q", x, got, want)
		}
	}
	for n, want := range map[int]string{8: "8 B", 1000: "1000 B", 1024: "1 KiB", 1 << 20: "1 MiB", 1536: "1536 B"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestBarIsNeverEmptyForSomething(t *testing.T) {
	if s := Bar(1, 1e9, 24); s != "▏" {
		t.Errorf("bar of a tiny rate is %q", s)
	}
	if s := Bar(5, 5, 24); len([]rune(s)) != 24 {
		t.Errorf("bar of the largest rate is %q", s)
	}
}
