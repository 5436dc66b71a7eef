package keli

import (
	"bytes"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/fabrictest"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/test/pages"
	"github.com/remora-kv/remora/test/scale"
)

// A superblock is written from its last word to its first, so that a reader that goes from
// the first to the last sees different generations at its ends if it is overtaken (E7).
func TestSuperblockIsWrittenBackwards(t *testing.T) {
	at := func(g uint64) *superblock {
		return &superblock{generation: g, directory: fabric.Remote{Addr: g, Key: 1}, length: directoryHead, lease: time.Second, instance: 1}
	}
	var before, after [superblockSize]byte
	at(1).put(&before)
	at(2).put(&after)
	for _, cut := range []int{8, 56} {
		// The page begins within the superblock: what is written last is in the other.
		memory := pages.New(t, 2)
		mem := memory[pages.Size-cut:][:superblockSize]
		at(1).publish(mem)
		pages.StopsAtWrite(t, memory, 0, func() { at(2).publish(mem) })
		if want := append(before[:cut:cut], after[cut:]...); !bytes.Equal(mem, want) {
			t.Errorf("before the first %d bytes are written there is %x, want %x", cut, mem, want)
		}
	}
}

// Lookups find a generation before a superblock names it, and the time of the one before is
// counted after that (E2).
func TestPublishOrder(t *testing.T) {
	mem := pages.New(t, 1)
	region := fabric.NewRegion(fabric.RegionParams{Mem: mem[:superblockSize]})
	s := &Server{clock: fabrictest.NewHandClock(), exporters: []*exporter{{superblock: region}}}
	was, next := emptyGeneration(t, 1, region), emptyGeneration(t, 2, region)
	s.published.Store(&generations{was})
	pages.StopsAtWrite(t, mem, 0, func() { _ = s.swap(next) })
	if list := *s.published.Load(); list.find(2) != next || list.find(1) != was {
		t.Error("when the superblock is written, lookups do not find both generations")
	}
	if was.reusable != 0 {
		t.Error("the time of a generation is counted while the superblock names it")
	}
}

// emptyGeneration is one without items.
func emptyGeneration(t *testing.T, number uint64, directory *fabric.Region) *generation {
	t.Helper()
	b, err := kvl.NewBuilder(kvl.Config{Generation: number})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	image, err := b.Seal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = image.Close() })
	return &generation{image: image, exports: []*export{{directory: directory}}}
}

// A superblock that is read while it is written is whole or changing, never corrupt.
func TestSuperblockWhileItIsWritten(t *testing.T) {
	mem := make([]byte, superblockSize)
	at := func(g uint64) *superblock {
		return &superblock{generation: g, directory: fabric.Remote{Addr: g << 12, Key: uint32(g)}, length: directoryHead, lease: time.Second, instance: 1}
	}
	at(1).publish(mem)
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for g := uint64(2); !stop.Load(); g++ {
			at(g).publish(mem)
		}
	}()
	defer func() { stop.Store(true); <-done }()
	last, p := uint64(0), make([]byte, superblockSize)
	for range scale.Times(3_000_000) {
		fence.CopyIn(p, mem) // as a READ does, in the order of addresses
		b, err := parseSuperblock(p)
		switch {
		case errors.Is(err, errChanging):
		case err != nil:
			t.Fatal(err)
		case b.generation < last || b != *at(b.generation):
			t.Fatalf("after generation %d: %+v", last, b)
		default:
			last = b.generation
		}
	}
}

// Memory is given back when a core has left since, whether it came again or not.
func TestCoreEpoch(t *testing.T) {
	var s coreEpoch
	load := func() *generations { return nil }
	outside := s.count.Load()
	s.enter(load)
	inside := s.count.Load()
	if !s.quiet(outside) || s.quiet(inside) {
		t.Errorf("while it uses a list: %v, %v", s.quiet(outside), s.quiet(inside))
	}
	s.leave()
	if !s.quiet(inside) {
		t.Error("after it left")
	}
	s.enter(load)
	if !s.quiet(inside) {
		t.Error("after it left and came again")
	}
}

// A core that has loaded a list is seen to use it, whenever it loads: the list is replaced
// before the epochs are read, and the core is inside before it loads (E5).
func TestCoreEpochOrder(t *testing.T) {
	cores := make([]coreEpoch, 2)
	core := &cores[1]
	core.enter(func() *generations {
		// The list is replaced between the core's two steps.
		if seen := epochsAfter(cores, func() {}); core.quiet(seen[1]) || !cores[0].quiet(seen[0]) {
			t.Error("a core that loads the list is taken for one that does not use it")
		}
		return nil
	})
	core.leave()
	// The core enters just before the list is replaced.
	seen := epochsAfter(cores, func() { core.enter(func() *generations { return nil }) })
	if core.quiet(seen[1]) {
		t.Error("a core that has loaded the old list is taken for one that has not")
	}
}
