package keli

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/test/scale"
)

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

// A superblock that is read while it is written is whole or changing, in whatever order a READ looks
// at its words.
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
	rng := rand.New(rand.NewPCG(scale.Seed(t), 0))
	for range scale.Times(3_000_000) {
		first, step := rng.IntN(8), 1+2*rng.IntN(4)
		for i := range 8 {
			at := (first + i*step) % 8 * 8
			fence.CopyIn(p[at:at+8], mem[at:at+8])
		}
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
