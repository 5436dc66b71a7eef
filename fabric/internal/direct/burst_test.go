package direct

import (
	"bytes"
	"testing"

	"github.com/remora-kv/remora/fabric"
)

// A chain of READs goes through several windows, each with its own rights and end.
func TestChainThroughWindows(t *testing.T) {
	a, b, _ := newPair(t, fabric.QPConfig{Transport: fabric.RC, SendDepth: 16, RecvDepth: 1})
	local := a.alloc(t, 16*64, 0)
	var regions []*fabric.Region
	for i := range 3 {
		r := b.alloc(t, 4096, fabric.RemoteRead)
		for at := range r.Bytes() {
			r.Bytes()[at] = byte(at>>6 + i<<6)
		}
		regions = append(regions, r)
	}
	chain := func() (wrs []fabric.WR) {
		for i := range 8 {
			from := regions[i*5%3].Remote()
			from.Addr += uint64(i) * 64
			wrs = append(wrs, fabric.WR{ID: uint64(i), Op: fabric.OpRead, Local: local.Seg(i*64, 64), Remote: from, Flags: fabric.FlagSignaled})
		}
		return wrs
	}
	for range 3 { // the windows are not known at first
		clear(local.Bytes())
		mustPost(t, a.qp, chain()...)
		for i, c := range a.poll() {
			if c.ID != uint64(i) || c.Status != fabric.StatusOK {
				t.Fatalf("completion %d: %+v", i, c)
			}
			if got, want := local.Bytes()[i*64:i*64+64], bytes.Repeat([]byte{byte(i + (i*5%3)<<6)}, 64); !bytes.Equal(got, want) {
				t.Fatalf("READ %d: %x, want %x", i, got, want)
			}
		}
	}
	if err := regions[1].Close(); err != nil {
		t.Fatal(err)
	}
	mustPost(t, a.qp, chain()...)
	want := []fabric.Status{fabric.StatusOK, fabric.StatusOK, fabric.StatusRemoteAccess} // 0, 2, 1: the third is closed
	comps := a.poll()
	if len(comps) != 8 {
		t.Fatalf("%d completions", len(comps))
	}
	for i, c := range comps {
		if expected := fabric.StatusFlushed; i >= len(want) && c.Status != expected || i < len(want) && c.Status != want[i] {
			t.Errorf("completion %d: %v", i, c.Status)
		}
	}
}

// A window that lets nobody read refuses a READ, wherever in a chain it is.
func TestChainKeepsRights(t *testing.T) {
	a, b, _ := newPair(t, fabric.QPConfig{Transport: fabric.RC, SendDepth: 16, RecvDepth: 1})
	local := a.alloc(t, 64, 0)
	open, shut := b.alloc(t, 64, fabric.RemoteRead|fabric.RemoteWrite), b.alloc(t, 64, fabric.RemoteWrite)
	copy(shut.Bytes(), "secret")
	write := fabric.WR{Op: fabric.OpWrite, Local: local.Seg(0, 8), Flags: fabric.FlagSignaled}
	for _, r := range []*fabric.Region{shut, open, shut, open} { // both were used of late then
		write.Remote = r.Remote()
		write.Remote.Addr += 8
		mustPost(t, a.qp, write)
	}
	a.poll()
	read := func(r *fabric.Region) fabric.WR {
		return fabric.WR{Op: fabric.OpRead, Local: local.Seg(0, 8), Remote: r.Remote(), Flags: fabric.FlagSignaled}
	}
	mustPost(t, a.qp, read(open), read(shut))
	comps := a.poll()
	if len(comps) != 2 || comps[0].Status != fabric.StatusOK || comps[1].Status != fabric.StatusRemoteAccess || bytes.HasPrefix(local.Bytes(), []byte("secret")) {
		t.Errorf("%+v, %q", comps, local.Bytes()[:8])
	}
}
