package base_test

import (
	"bytes"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// TestGatherAndScatter copies every range of bytes through segments of which some
// are empty, in a region that peers may reach and in one that they may not.
func TestGatherAndScatter(t *testing.T) {
	for _, access := range []fabric.Access{0, fabric.RemoteWrite} {
		r := fabric.NewRegion(fabric.RegionParams{Mem: make([]byte, 64), Access: access})
		for _, segs := range [][]fabric.Seg{
			{r.Seg(8, 17)},
			{r.Seg(40, 3), {}, r.Seg(0, 9), r.Seg(20, 5)},
			{{}, r.Seg(1, 17)},
		} {
			const n = 17
			for off := range n + 1 {
				for end := off; end <= n; end++ {
					want := make([]byte, end-off)
					for i := range want {
						want[i] = byte(off + i + end)
					}
					clear(r.Bytes())
					base.Scatter(&segs[0], segs[1:], off, want)
					got := make([]byte, end-off)
					base.Gather(got, &segs[0], segs[1:], off)
					if !bytes.Equal(got, want) {
						t.Fatalf("bytes %d to %d of %v: got %x, want %x", off, end, segs, got, want)
					}
				}
			}
		}
	}
}
