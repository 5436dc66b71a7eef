package verbs

import (
	"runtime"
	"testing"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/cycles"
)

// pairOf connects both sides of a case on the loop fabric.
func pairOf(t *testing.T, c Case) (clientSide, serverSide *side) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	set, scale := provider.New(), cycles.Calibrate()
	h := &verbsServer{providers: set, scale: scale}
	hello, err := h.Setup(t.Context(), &bench.Order[Case]{Case: &c, Threads: 1})
	must(err)
	s := &verbs{runner: &runner{Runner: bench.NewRunner[Case](Env{Providers: set}, bench.Times{}, &bench.Report[Row]{})}, c: &c}
	addrs, err := s.connect(t.Context(), hello)
	must(err)
	must(h.link(t.Context(), addrs))
	must(s.side.prepare())
	t.Cleanup(func() {
		must(s.side.close())
		must(h.Close())
	})
	return s.side, h.side
}

// M2: nothing is allocated during a run. What a run of many operations
// allocates beyond a run of few is what the operations allocate.
func TestNothingIsAllocatedOnTheDataPath(t *testing.T) {
	for _, window := range []int{1, 8} {
		for _, test := range []string{"read", "write", "send", "fetch-add", "echo-ss", "echo-ws", "echo-ww"} {
			cfg := Config{Tests: []string{test}, Fabric: "loop", Windows: []int{window}, Poll: fabric.Busy}
			if test == "echo-ws" {
				cfg.Accesses, cfg.Table = []int{2}, testTable
			}
			c := planOf(t, cfg)[0]
			active, reacting := pairOf(t, c)
			// testing.AllocsPerRun would leave one processor for two threads that spin.
			allocs := func(ops uint64) uint64 {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				if _, err := active.run(t.Context(), load.Budget{Ops: ops, Every: 16}); err != nil {
					t.Error(err)
				}
				runtime.ReadMemStats(&after)
				return after.Mallocs - before.Mallocs
			}
			reacting.start(t.Context(), passive())
			allocs(64)
			few, many := allocs(64), allocs(640)
			if _, err := reacting.stop(); err != nil {
				t.Error(err)
			}
			if many > few+64 {
				t.Errorf("%s window %d: %d allocations for 64 operations and %d for 640", test, window, few, many)
			}
		}
	}
}

// M6: what did not arrive as it was sent is an error.
func TestWrongBytesAreFound(t *testing.T) {
	for _, op := range []fabric.Op{fabric.OpRead, fabric.OpWrite, fabric.OpFetchAdd} {
		c := Case{
			Test: "x", Kind: kindInbound, Op: op, Fabric: "loop", Size: 8, Window: 4,
			Threads: 1, QPs: 1, Signaled: true,
		}
		active, passive := pairOf(t, c)
		if _, err := active.run(t.Context(), load.Budget{Ops: 40, Every: 1}); err != nil {
			t.Fatal(err)
		}
		check := func() error {
			if err := active.verify(40); err != nil {
				return err
			}
			return passive.verify(40)
		}
		if err := check(); err != nil {
			t.Errorf("%v: %v", op, err)
		}
		e := passive.ends[0]
		mem := e.lanes[0].shared.Bytes()
		if op == fabric.OpRead {
			e = active.ends[0]
			mem = e.lanes[0].local.Bytes()
		}
		mem[e.slots.off(2)+3] ^= 0x40
		if err := check(); err == nil {
			t.Errorf("%v: a flipped bit was not found", op)
		}
	}
}
