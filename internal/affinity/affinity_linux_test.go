package affinity

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"
)

func TestAllowed(t *testing.T) {
	cpus, err := Allowed()
	if err != nil {
		t.Fatal(err)
	}
	if len(cpus) == 0 || !slices.IsSorted(cpus) {
		t.Errorf("got %v, want at least one CPU, ascending", cpus)
	}
}

// threadMask must be called on the thread that is asked about.
func threadMask(t *testing.T) unix.CPUSet {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	return set
}

func TestPinAndUnpin(t *testing.T) {
	cpus, err := Allowed()
	if err != nil {
		t.Fatal(err)
	}
	for _, cpu := range cpus {
		unpin, err := Pin(cpu)
		if err != nil {
			t.Fatal(err)
		}
		var want unix.CPUSet
		want.Set(cpu)
		if got := threadMask(t); got != want {
			t.Errorf("pinned to %d: mask %v", cpu, got)
		}
		if still, err := Allowed(); err != nil || !reflect.DeepEqual(still, cpus) {
			t.Errorf("pinned to %d: Allowed %v, %v; want %v", cpu, still, err, cpus)
		}
		unpin()
	}
}

func TestUnpinRestoresTheMaskBefore(t *testing.T) {
	cpus, err := Allowed()
	if err != nil {
		t.Fatal(err)
	}
	outer, err := Pin(cpus[0])
	if err != nil {
		t.Fatal(err)
	}
	defer outer()
	before := threadMask(t)
	inner, err := Pin(cpus[len(cpus)-1])
	if err != nil {
		t.Fatal(err)
	}
	inner()
	if got := threadMask(t); got != before {
		t.Errorf("mask %v after unpin, %v before Pin", got, before)
	}
}

func TestPinRefusesACPUThatIsNotThere(t *testing.T) {
	for _, cpu := range []int{-1, maxCPU, maxCPU - 1} {
		if unpin, err := Pin(cpu); err == nil {
			unpin()
			t.Errorf("pinned to CPU %d", cpu)
		} else if !strings.Contains(err.Error(), "CPU") {
			t.Errorf("CPU %d: error %q", cpu, err)
		}
	}
}

func TestApart(t *testing.T) {
	allowed, err := Allowed()
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(allowed) + 1 {
		cpus, err := Apart(n)
		if err != nil {
			t.Fatal(err)
		}
		distinct := slices.Compact(slices.Sorted(slices.Values(cpus)))
		if len(distinct) != n {
			t.Errorf("Apart(%d) = %v", n, cpus)
		}
		for _, cpu := range cpus {
			if !slices.Contains(allowed, cpu) {
				t.Errorf("Apart(%d) = %v, allowed are %v", n, cpus, allowed)
			}
		}
	}
	if _, err := Apart(len(allowed) + 1); err == nil || !strings.Contains(err.Error(), "may use") {
		t.Errorf("one CPU too many: error %v", err)
	}
}

func TestSpread(t *testing.T) {
	pairs := func(cpu int) int { return cpu % 4 } // 0 and 4 are siblings, and so on
	eight := []int{0, 1, 2, 3, 4, 5, 6, 7}
	for _, c := range []struct {
		cpus []int
		n    int
		want []int
	}{
		{eight, 0, []int{}},
		{eight, 2, []int{0, 1}},
		{eight, 4, []int{0, 1, 2, 3}},
		{eight, 6, []int{0, 1, 2, 3, 4, 5}},
		{[]int{0, 4, 1, 5}, 2, []int{0, 1}},
		{[]int{0, 4, 1, 5}, 3, []int{0, 1, 4}},
		{[]int{3, 7}, 2, []int{3, 7}},
	} {
		if got := spread(c.cpus, c.n, pairs); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%d of %v: got %v, want %v", c.n, c.cpus, got, c.want)
		}
	}
}

func TestCoreOf(t *testing.T) {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	sys := fstest.MapFS{
		"cpu4/topology/thread_siblings_list":  file("0,4\n"),
		"cpu3/topology/thread_siblings_list":  file("2-3\n"),
		"cpu5/topology/thread_siblings_list":  file("5\n"),
		"cpu6/topology/thread_siblings_list":  file("garbage\n"),
		"cpu64/topology/thread_siblings_list": file("0-1,64-65\n"),
	}
	for cpu, want := range map[int]int{4: 0, 3: 2, 5: 5, 6: 6, 64: 0, 9: 9} {
		if got := coreOf(sys, cpu); got != want {
			t.Errorf("coreOf(%d) = %d, want %d", cpu, got, want)
		}
	}
}
