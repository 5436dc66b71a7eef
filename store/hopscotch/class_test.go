package hopscotch

import (
	"testing"

	"github.com/remora-kv/remora/store"
)

func TestClass(t *testing.T) {
	last := uint8(0)
	for size := uint64(0); size < 1<<27; size += 1 + size/50 {
		class := classOf(size)
		if got := classSize(class); got < size || got > size/8*9+2*unit {
			t.Fatalf("%d bytes are in class %d of %d bytes", size, class, got)
		}
		if class < last {
			t.Fatalf("%d bytes are in class %d, fewer in %d", size, class, last)
		}
		last = class
	}
	for class := range 256 {
		size := classSize(uint8(class))
		if classOf(size) != uint8(class) {
			t.Errorf("class %d has %d bytes, which are of class %d", class, size, classOf(size))
		}
	}
	if longest := classSize(classOf(blockSize(store.MaxKey, store.MaxValueLimit))); longest > maxSpan {
		t.Errorf("the longest item is read by %d bytes, a Finder reads at most %d", longest, maxSpan)
	}
}
