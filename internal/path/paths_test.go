package path

import (
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/rfp"
)

// A name chooses how rfp returns results and what stands beside it.
func TestPaths(t *testing.T) {
	for name, want := range map[Name]struct {
		pinned          bool
		mode            rfp.Mode
		small, searches bool
	}{
		RFP: {}, Fetch: {pinned: true, mode: rfp.Fetch}, Reply: {pinned: true, mode: rfp.Reply},
		Herd: {small: true}, SendRecv: {small: true},
		OneSided:    {pinned: true, mode: rfp.Reply, searches: true},
		OneSidedFAA: {pinned: true, mode: rfp.Reply, searches: true},
		Pilaf:       {pinned: true, mode: rfp.Reply, searches: true, small: true},
		Farm:        {pinned: true, mode: rfp.Reply, searches: true},
		FarmVar:     {pinned: true, mode: rfp.Reply, searches: true},
	} {
		cfg := Config{Path: name}
		got := cfg.rfp(nil, 0)
		if got.Pinned != want.pinned || got.Mode != want.mode || name.Small() != want.small || name.Searches() != want.searches {
			t.Errorf("%s: %+v, small %v, searches %v; want %+v", name, got.Params, name.Small(), name.Searches(), want)
		}
	}
	if n := len(Names()); n != len(kinds) || n != 10 {
		t.Errorf("%d names", n)
	}
}

// What a caller chooses is what a connection of rfp is made with.
func TestConfig(t *testing.T) {
	cfg := Config{Path: Reply, Window: 3, Batch: 7, FlushAfter: time.Minute, Busy: true, FetchSize: 512, Retries: 9}
	got := cfg.rfp(nil, 5)
	if got.Core != 5 || got.Window != 3 || got.Batch != 7 || got.FlushAfter != time.Minute || got.Policy != fabric.Busy ||
		got.FetchSize != 512 || got.Retries != 9 || !got.Pinned || got.Mode != rfp.Reply {
		t.Errorf("%+v", got)
	}
	if cfg = (Config{}); cfg.rfp(nil, 0).Policy != fabric.Adaptive {
		t.Error("waiters spin although nobody asked for that")
	}
}

// Uses are counted by atomics where the path says so, and otherwise where there are links.
func TestCountEvery(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want int
	}{
		{Config{Path: OneSidedFAA}, 1},
		{Config{Path: OneSided, CountEvery: 16}, 0},
		{Config{Path: RFP, CountEvery: 16}, 0},
		{Config{Path: RFP, Links: 8, CountEvery: 16}, 16},
		{Config{Path: RFP, Links: 8}, 0},
	} {
		if got := c.cfg.countEvery(); got != c.want {
			t.Errorf("%+v: one in %d", c.cfg, got)
		}
	}
}
