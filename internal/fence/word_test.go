package fence_test

import (
	"encoding/binary"
	"testing"

	"github.com/remora-kv/remora/internal/fence"
)

// A word is where it is asked for, whole or not at all.
func TestWord(t *testing.T) {
	words := make([]byte, 32, 64) // what is behind is not ours
	for _, off := range []int{0, 8, 24} {
		want := uint64(off) + 1
		fence.Publish64(fence.Word(words, off), want)
		if got := binary.NativeEndian.Uint64(words[off:]); got != want || fence.Observe64(fence.Word(words, off)) != got {
			t.Errorf("the word at %d is %d", off, got)
		}
	}
	for _, off := range []int{-8, 25, 32, 1 << 40} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a word at %d of %d bytes", off, len(words))
				}
			}()
			fence.Word(words, off).Load()
		}()
	}
}
