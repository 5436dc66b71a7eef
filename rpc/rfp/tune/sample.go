package tune

import (
	"math/bits"
	"time"

	"github.com/remora-kv/remora/rpc/wire"
)

const (
	// headers is what a result has around it in a frame of its own.
	headers = wire.ResultHeader + wire.EntryHeader
	// longer counts the frames that are longer than any F.
	longer = MaxFetch + 1

	// subBits: a power of two of time has 1<<subBits steps.
	subBits  = 5
	subSteps = 1 << subBits
	// timeSteps covers every positive duration.
	timeSteps = (63 - subBits + 1) * subSteps
	// fullCount is where counters are halved.
	fullCount = 1 << 31
)

// Sample is what is known of an application: how long its results are and how
// long the server takes for them. Its memory is fixed (U4). Use NewSample.
type Sample struct {
	frames  [longer + 1]uint32 // by length
	times   [timeSteps]uint32
	results uint64
	timed   uint64
}

// NewSample returns an empty sample.
func NewSample() *Sample { return &Sample{} }

// Result records a result of n bytes that has a frame of its own. It panics when
// n is negative.
func (s *Sample) Result(n int) { s.Frame(n + wire.EntryHeader) }

// Frame records a result frame with a payload of n bytes: the entries of a batch,
// each with its header. A payload has one entry at least. It panics when there is
// no room for that.
func (s *Sample) Frame(n int) {
	if n < wire.EntryHeader {
		panic("tune: a result frame without an entry")
	}
	s.add(min(wire.ResultBytes(n), longer), 1)
}

// Process records how long the server took for a result.
func (s *Sample) Process(d time.Duration) { s.addTime(d, 1) }

// Results and Times return how many of each were recorded, after ageing.
func (s *Sample) Results() uint64 { return s.results }

// Times is the number of process times.
func (s *Sample) Times() uint64 { return s.timed }

func (s *Sample) add(frame int, n uint32) {
	if s.results+uint64(n) >= fullCount {
		s.Age()
	}
	s.frames[frame] += n
	s.results += uint64(n)
}

func (s *Sample) addTime(d time.Duration, n uint32) {
	if s.timed+uint64(n) >= fullCount {
		s.Age()
	}
	s.times[stepOf(d)] += n
	s.timed += uint64(n)
}

// Age halves the weight of what was recorded so far, so that what comes counts
// more. What was seen once is forgotten.
func (s *Sample) Age() {
	s.results = halve(s.frames[:])
	s.timed = halve(s.times[:])
}

func halve(counts []uint32) (sum uint64) {
	for i := range counts {
		counts[i] /= 2
		sum += uint64(counts[i])
	}
	return sum
}

// Reset forgets everything.
func (s *Sample) Reset() { *s = Sample{} }

// stepOf is the step of a duration; negative ones count as 0.
func stepOf(d time.Duration) int {
	v := uint64(max(d, 0))
	if v < subSteps {
		return int(v)
	}
	shift := bits.Len64(v) - subBits - 1
	return (shift+1)*subSteps + int(v>>shift) - subSteps
}

// endOf is the longest duration of a step.
func endOf(step int) time.Duration {
	if step < subSteps {
		return time.Duration(step)
	}
	shift := step/subSteps - 1
	return time.Duration(step%subSteps+subSteps+1)<<shift - 1
}
