//go:build !race

package keli

import (
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/fabrictest"
	"github.com/remora-kv/remora/test/pages"
)

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
