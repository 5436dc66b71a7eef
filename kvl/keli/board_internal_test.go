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

// A board that is read while it is written is whole or changing, never corrupt.
func TestBoardWhileItIsWritten(t *testing.T) {
	mem := make([]byte, boardSize)
	at := func(g uint64) *board {
		return &board{generation: g, directory: fabric.Remote{Addr: g << 12, Key: uint32(g)}, length: directoryHead, lease: time.Second, instance: 1}
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
	last, p := uint64(0), make([]byte, boardSize)
	for range scale.Times(3_000_000) {
		fence.CopyIn(p, mem) // as a READ does, in the order of addresses
		b, err := parseBoard(p)
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
func TestTurnstile(t *testing.T) {
	var s turnstile
	outside := s.passes.Load()
	s.enter()
	inside := s.passes.Load()
	if !s.passed(outside) || s.passed(inside) {
		t.Errorf("at the lineup: %v, %v", s.passed(outside), s.passed(inside))
	}
	s.leave()
	if !s.passed(inside) {
		t.Error("after it left")
	}
	s.enter()
	if !s.passed(inside) {
		t.Error("after it left and came again")
	}
}
