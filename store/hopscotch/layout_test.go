package hopscotch

import (
	"testing"

	"github.com/remora-kv/remora/store"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		name             string
		memory           int64
		maxValue         int
		slotSize         uint64
		leastIdx, mostIx float64
	}{
		{"two fifths", 1 << 20, store.DefaultMaxValue, inlineSlot, 0.39, 0.41},
		{"nearly all", 16 << 20, 40, inlineSlot, 0.89, 0.91},
		{"room for long keys", 1 << 20, 40, inlineSlot, 0.7, 0.8},
		{"the least", store.MinMemory, 1, inlineSlot, 0.35, 0.41},
		{"var", 1 << 20, 40, slotHead, 0.28, 0.30},
	} {
		slots, items := split(store.Config{Memory: c.memory, MaxValue: c.maxValue}, c.slotSize)
		if total := slots*c.slotSize + items; total > uint64(c.memory) || total < uint64(c.memory)-overhead-inlineSlot {
			t.Errorf("%s: %d of %d bytes are divided", c.name, total, c.memory)
		}
		if share := float64(slots*c.slotSize) / float64(c.memory); share < c.leastIdx || share > c.mostIx {
			t.Errorf("%s: %.3f of the memory are slots", c.name, share)
		}
	}
}

func TestLayoutOfPeers(t *testing.T) {
	good := layout{inlineSlot, 1000, 1 << 20, 7}
	if got, err := parseLayout(good.bytes()); err != nil || got != good {
		t.Errorf("%+v became %+v: %v", good, got, err)
	}
	for what, bad := range map[string][]byte{
		"empty":     nil,
		"short":     good.bytes()[:layoutSize-1],
		"long":      append(good.bytes(), 0),
		"slot size": layout{64, 1000, 1 << 20, 7}.bytes(),
		"no homes":  layout{slotHead, 0, 1 << 20, 7}.bytes(),
		"homes":     layout{slotHead, 1 << 60, 1 << 20, 7}.bytes(),
		"items":     layout{slotHead, 1000, 1 << 60, 7}.bytes(),
		"format":    append([]byte{1}, good.bytes()[1:]...),
	} {
		if _, err := NewFinder(bad); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
}
