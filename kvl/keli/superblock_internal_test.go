package keli

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/test/scale"
)

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
	outside := s.count.Load()
	s.enter()
	inside := s.count.Load()
	if !s.quiet(outside) || s.quiet(inside) {
		t.Errorf("while it uses a list: %v, %v", s.quiet(outside), s.quiet(inside))
	}
	s.leave()
	if !s.quiet(inside) {
		t.Error("after it left")
	}
	s.enter()
	if !s.quiet(inside) {
		t.Error("after it left and came again")
	}
}
