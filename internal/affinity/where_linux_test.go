package affinity

import "testing"

func TestHere(t *testing.T) {
	cpus, err := Allowed()
	if err != nil {
		t.Fatal(err)
	}
	for _, cpu := range cpus {
		unpin, err := Pin(cpu)
		if err != nil {
			t.Fatal(err)
		}
		for name, here := range map[string]func() Place{"instruction": Here, "kernel": hereByKernel} {
			// The machine may stand still between two of them.
			for !here().With(here()) {
			}
			if got := here() & (1<<cpuBits - 1); int(got) != cpu {
				t.Errorf("by %s: CPU %d, want %d", name, got, cpu)
			}
		}
		unpin()
	}
	Yield()
}

func TestWith(t *testing.T) {
	const wrap = tickMask + 1
	for _, c := range []struct {
		p, other Place
		want     bool
	}{
		{At(3, 10), At(3, 10), true},
		{At(3, 10), At(3, 10-recent), true},
		{At(3, 10), At(3, 10-recent-1), false},
		{At(3, 10), At(3, 11), false}, // ticks of two CPUs that are not synchronised
		{At(3, 10), At(2, 10), false},
		{At(0, 0), At(0, wrap-1), true},
		{At(0, 0), 0, false},
		{0, At(0, 0), false},
		{At(4095, tickMask), At(4095, tickMask), true},
		{At(4095, 1), At(4095, tickMask), true},
	} {
		if got := c.p.With(c.other); got != c.want {
			t.Errorf("%#x with %#x: %v", uint32(c.p), uint32(c.other), got)
		}
	}
	if Place(0).With(0) {
		t.Error("two threads that are nowhere are on one CPU")
	}
}

func BenchmarkHere(b *testing.B) {
	for b.Loop() {
		Here()
	}
}
