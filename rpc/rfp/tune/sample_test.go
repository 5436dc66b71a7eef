package tune

import (
	"testing"
	"time"
)

func TestStepsOfTime(t *testing.T) {
	before := -1
	for _, d := range []time.Duration{0, 1, 31, 32, 33, 63, 64, 65, 1000, 1e6, 1e9, 1 << 40, 1<<63 - 1} {
		step := stepOf(d)
		end := endOf(step)
		if step < before || step >= timeSteps {
			t.Errorf("%d ns is in step %d of %d, after %d", d, step, timeSteps, before)
		}
		if end < d || float64(end) > 1.04*float64(d) {
			t.Errorf("%d ns is in a step that ends at %d", d, end)
		}
		if stepOf(end) != step || (end < 1<<62 && stepOf(end+1) != step+1) {
			t.Errorf("step %d does not end at %d", step, end)
		}
		before = step
	}
	if stepOf(-5) != 0 {
		t.Error("a negative time is not 0")
	}
}

func TestSampleCountsHeaders(t *testing.T) {
	s := NewSample()
	s.Result(0)
	s.Result(300)
	s.Frame(4 + 10 + 4 + 20) // two results in one frame
	s.Result(1 << 20)
	for n, want := range map[int]uint32{12: 1, 312: 1, 46: 1, longer: 1} {
		if s.frames[n] != want {
			t.Errorf("%d frames of %d bytes", s.frames[n], n)
		}
	}
	if s.Results() != 4 || s.Times() != 0 {
		t.Errorf("%d results, %d times", s.Results(), s.Times())
	}
	if !panics(func() { s.Result(-1) }) {
		t.Error("a negative size is accepted")
	}
}

func TestSampleAges(t *testing.T) {
	s := NewSample()
	for range 9 {
		s.Result(100)
		s.Process(5)
	}
	s.Result(200)
	s.Age()
	if s.Results() != 4 || s.Times() != 4 || s.frames[112] != 4 || s.frames[212] != 0 {
		t.Errorf("%d results, %d times", s.Results(), s.Times())
	}
	s.results = fullCount - 1 // as if there were so many
	s.Result(100)
	if s.Results() != 3 { // 4 halved, and the new one
		t.Errorf("%d results after a counter was full", s.Results())
	}
	s.Reset()
	if s.Results() != 0 || s.frames[112] != 0 {
		t.Error("not empty")
	}
}

func TestRecordingDoesNotAllocate(t *testing.T) {
	s := NewSample()
	n := 0
	if a := testing.AllocsPerRun(1000, func() {
		n += 37
		s.Result(n)
		s.Frame(n + 4)
		s.Process(time.Duration(n))
	}); a != 0 {
		t.Errorf("%v allocations", a)
	}
}
