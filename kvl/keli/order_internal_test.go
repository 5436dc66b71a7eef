//go:build !race

package keli

import (
	"bytes"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/fabrictest"
	"github.com/remora-kv/remora/test/pages"
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
