package fence

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/remora-kv/remora/test/scale"
)

// The hammers below run a writer and a reader over one buffer. The writer fills
// it with generation after generation; every byte of generation g holds byte(g).
// The writer is never more than maxLead generations ahead of the reader, so a
// byte tells which generation it is from.
const maxLead = 100

// rounds is the number of generations that one hammer writes. In race builds the
// detector looks at the edges and a few are enough.
func rounds() uint64 {
	if scale.Race {
		return uint64(scale.Times(32_000)) // a sixteenth of it
	}
	return uint64(scale.Times(100_000))
}

// hammer runs write for every generation in one goroutine, and read in this one
// until it has seen the last generation. read gets the generation that it
// returned before and returns the one that it has seen, which may be the same.
func hammer(t *testing.T, write func(gen uint64), read func(seen uint64) (uint64, error)) {
	t.Helper()
	last := rounds()
	var acked atomic.Uint64
	var stop atomic.Bool
	var writer sync.WaitGroup
	writer.Go(func() {
		for gen := uint64(1); gen <= last && !stop.Load(); gen++ {
			for gen > acked.Load()+maxLead && !stop.Load() {
				runtime.Gosched()
			}
			write(gen)
		}
	})
	defer writer.Wait()
	defer stop.Store(true)
	for seen := uint64(0); seen < last; {
		now, err := read(seen)
		if err != nil {
			t.Errorf("after generation %d: %v", seen, err)
			return
		}
		if now == seen {
			runtime.Gosched()
		}
		seen = now
		acked.Store(seen)
	}
}

// generation returns the generation of a byte, given one not older than maxLead
// that is not newer than it.
func generation(b byte, notBefore uint64) uint64 {
	return notBefore + uint64(b-byte(notBefore))
}

// shapes are ranges of a buffer: aligned, ragged at either end, shorter than a
// word, and within one word.
var shapes = []struct{ from, to int }{
	{0, 64}, {0, 256}, {1, 64}, {3, 61}, {5, 130}, {0, 7}, {1, 8}, {2, 7}, {4, 12}, {7, 9}, {6, 200},
}

func eachShape(t *testing.T, f func(t *testing.T, shared []byte)) {
	for _, s := range shapes {
		t.Run(fmt.Sprintf("%d-%d", s.from, s.to), func(t *testing.T) {
			f(t, alignedBuffer(256)[s.from:s.to])
		})
	}
}

func fillBytes(buf []byte, v byte) {
	for i := range buf {
		buf[i] = v
	}
}

// F3: a reader that observes a byte sees all bytes before it. The reader goes backwards,
// so the generations it sees must not fall.
func TestCopyOutAscends(t *testing.T) {
	eachShape(t, func(t *testing.T, shared []byte) {
		src := make([]byte, len(shared))
		pair := 0
		write := func(gen uint64) {
			fillBytes(src, byte(gen))
			CopyOut(shared, src)
		}
		hammer(t, write, func(seen uint64) (uint64, error) {
			// A pair in quick succession catches what a long walk is too slow for.
			pair++
			hi := len(shared) - 1 - pair%len(shared)
			lo := pair / 8 % (hi + 1)
			later := ObserveByte(&shared[hi])
			earlier := ObserveByte(&shared[lo])
			if g, h := generation(earlier, seen), generation(later, seen); g < h {
				return 0, fmt.Errorf("byte %d is of generation %d, byte %d was already of %d", lo, g, hi, h)
			}
			return descend(shared, seen)
		})
	})
}

// descend observes all bytes from the last to the first and returns the
// generation of the last.
func descend(shared []byte, seen uint64) (uint64, error) {
	last := generation(ObserveByte(&shared[len(shared)-1]), seen)
	now := last
	for i := len(shared) - 2; i >= 0; i-- {
		g := generation(ObserveByte(&shared[i]), seen)
		if g < now {
			return 0, fmt.Errorf("byte %d is of generation %d, byte %d was already of %d", i, g, i+1, now)
		}
		now = g
	}
	return last, nil
}

// F4: the writer goes backwards, so what CopyIn reads must not fall with the
// address.
func TestCopyInAscends(t *testing.T) {
	eachShape(t, func(t *testing.T, shared []byte) {
		dst := make([]byte, len(shared))
		write := func(gen uint64) {
			for i := len(shared) - 1; i >= 0; i-- {
				PublishByte(&shared[i], byte(gen))
			}
		}
		hammer(t, write, func(seen uint64) (uint64, error) {
			CopyIn(dst, shared)
			first := generation(dst[0], seen)
			now := first
			for i := 1; i < len(dst); i++ {
				g := generation(dst[i], seen)
				if g < now {
					return 0, fmt.Errorf("byte %d is of generation %d, byte %d was already of %d", i, g, i-1, now)
				}
				now = g
			}
			return first, nil
		})
	})
}

// F3 and F4: a word that both sides cover whole is of one generation. The source
// of the one and the destination of the other are not aligned.
func TestCopyNeverTearsWords(t *testing.T) {
	for _, n := range []int{8, 16, 24, 64, 72, 200} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			shared := alignedBuffer(8 + n + 8)
			src, dst := alignedBuffer(n + 16)[3:n+8], alignedBuffer(n + 16)[5:n+12]
			write := func(gen uint64) {
				fillBytes(src, byte(gen))
				CopyOut(shared[3:], src) // ragged in front, the end aligned
			}
			hammer(t, write, func(seen uint64) (uint64, error) {
				CopyIn(dst, shared[4:4+n+7])
				words := dst[4 : 4+n]
				for ; len(words) > 0; words = words[8:] {
					w := binary.NativeEndian.Uint64(words)
					if w != uint64(byte(w))*0x0101010101010101 {
						return 0, fmt.Errorf("torn word %#016x", w)
					}
				}
				return generation(ObserveByte(&shared[n+7]), seen), nil
			})
		})
	}
}

// F2: Dekker. Both sides announce, then look; they must not both see nothing.
func TestAnnounceThenObserve(t *testing.T) {
	var flag [2]struct {
		atomic.Uint64
		_ [56]byte
	}
	var arrived atomic.Uint64
	var saw [2][]uint64
	last := rounds()
	side := func(me int) {
		for round := uint64(1); round <= last; round++ {
			arrived.Add(1)
			for arrived.Load() < 2*round {
				runtime.Gosched()
			}
			Announce64(&flag[me].Uint64, round)
			saw[me] = append(saw[me], Observe64(&flag[1-me].Uint64))
		}
	}
	var sides sync.WaitGroup
	sides.Go(func() { side(0) })
	sides.Go(func() { side(1) })
	sides.Wait()
	for i := range saw[0] {
		if round := uint64(i + 1); saw[0][i] < round && saw[1][i] < round {
			t.Fatalf("round %d: neither side saw the other announce", round)
		}
	}
}

// A store that a later store covers must be made all the same: with plain
// stores only between two Publish the compiler would drop the first one.
func TestPublishIsNotDropped(t *testing.T) {
	var seq atomic.Uint64
	var data [8]uint64
	var stop atomic.Bool
	var writer sync.WaitGroup
	writer.Go(func() {
		for gen := uint64(0); !stop.Load(); gen += 2 {
			Publish64(&seq, gen+1)
			data[0], data[1], data[2], data[3] = gen, gen, gen, gen
			data[4], data[5], data[6], data[7] = gen, gen, gen, gen
			Publish64(&seq, gen+2)
		}
	})
	defer writer.Wait()
	defer stop.Store(true)
	for range 200_000_000 {
		if Observe64(&seq)%2 == 1 {
			return
		}
	}
	t.Error("no odd sequence number was ever seen: the compiler has removed the first of two Publish64")
}

func TestCount(t *testing.T) {
	var n atomic.Uint64
	var counter sync.WaitGroup
	counter.Go(func() {
		for range 1000 {
			Count(&n, 3)
		}
	})
	for prev := uint64(0); prev < 3000; {
		now := n.Load()
		if now < prev {
			t.Errorf("counter fell from %d to %d", prev, now)
		}
		if prev = now; now < 3000 {
			runtime.Gosched()
		}
	}
	counter.Wait()
}

func TestPause(t *testing.T) {
	Pause()
	for _, n := range []int{-1, 0, 1, 100} {
		PauseN(n)
	}
}

// Hints change nothing, wherever they point.
func TestExpect(t *testing.T) {
	line := alignedBuffer(64)
	fillBytes(line, 7)
	for i := range line {
		ExpectRead(&line[i])
		ExpectOnce(&line[i])
		ExpectWrite(&line[i])
	}
	ExpectRead(nil)
	ExpectOnce(nil)
	ExpectWrite(nil)
	for i, b := range line {
		if b != 7 {
			t.Fatalf("byte %d is %d after a hint, was 7", i, b)
		}
	}
}

func BenchmarkExpectRead(b *testing.B) {
	line := alignedBuffer(64)
	for b.Loop() {
		ExpectRead(&line[0])
	}
}

func BenchmarkPublish64(b *testing.B) {
	var p atomic.Uint64
	for b.Loop() {
		Publish64(&p, 1)
	}
}

func BenchmarkAnnounce64(b *testing.B) {
	var p atomic.Uint64
	for b.Loop() {
		Announce64(&p, 1)
	}
}

func BenchmarkPause(b *testing.B) {
	for b.Loop() {
		Pause()
	}
}
