package verbs

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/out"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/test/benchtest"
)

func ptr[T any](v T) *T { return &v }

// sampleRows are rows of all sorts.
func sampleRows() []Row {
	limit := Row{
		Test: "limit", Fabric: "memory", Transport: "none", Size: 8, Window: 1, Measure: bench.Measure{Ops: 10_500_000, Seconds: 3.000001, OpsPerSec: 3_499_998.8, P50: 0.2861, P99: 0.3402, P999: 1.7, Mean: 0.2877, Trial: 1, TimedEvery: 16, ClockNanos: 10.41, Samples: 656_250},
		Threads: 1, QPs: 1,
		Poll: "busy",
	}
	echo := Row{
		Test: "echo-ww", Fabric: "shm", Transport: "rc", Size: 8, Inline: true, Window: 1, Measure: bench.Measure{Ops: 8_000_000, Seconds: 3, OpsPerSec: 2_666_666.7, P50: 0.37, P99: 0.49, P999: 2.15, Mean: 0.3751, Trial: 1, TimedEvery: 16, ClockNanos: 10.41, Samples: 500_000},
		Threads: 1, QPs: 1,
		Poll: "adaptive", LimitRatio: ptr(0.7619),
	}
	slow, fast := echo, echo
	slow.Trial, slow.OpsPerSec = 2, 2_400_000
	fast.Trial, fast.OpsPerSec = 3, 2_700_000
	return []Row{
		limit, echo, slow, fast,
		{
			Test: "send", Fabric: "tcp", Transport: "ud", Size: 4096, Signaled: true, Window: 16, Measure: bench.Measure{Ops: 900, Seconds: 1, OpsPerSec: 900, P50: 1234, P99: 2_500_000, P999: 2_600_000, Trial: 1, TimedEvery: 1, Samples: 900},
			Threads: 4, QPs: 1, Poll: "adaptive",
			Lost: 10,
		},
		{
			Test: "all-to-all", Fabric: "shm", Transport: "uc", Size: 32, Inline: true, Window: 16, Measure: bench.Measure{Ops: 1, Seconds: 1, OpsPerSec: 31_000, P50: 25, P99: 80.5, P999: 99, Trial: 1, TimedEvery: 1},
			Threads: 2, QPs: 2, Poll: "adaptive",
		},
		{
			Test: "echo-ws", Fabric: "shm", Transport: "uc", ReplyTransport: "ud", Size: 32, Inline: true, Window: 8, Measure: bench.Measure{Ops: 2_000_000, Seconds: 1, OpsPerSec: 2_000_000, P50: 4, P99: 8, P999: 9, Trial: 1, TimedEvery: 1},
			Threads: 1, QPs: 1, Poll: "adaptive",
			Accesses: 2, Prefetch: "on", TableBytes: 1 << 30,
		},
		{
			Test: "idle", Fabric: "shm", Transport: "rc", Size: 8, Inline: true, Window: 1, Measure: bench.Measure{Ops: 1, Seconds: 3, OpsPerSec: 0.3, P50: 63.1, P99: 63.1, P999: 63.1, Trial: 1, TimedEvery: 1, ServerCPU: ptr(0.333)},
			Threads: 1, QPs: 1, Poll: "adaptive",
		},
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	for _, r := range sampleRows() {
		if err := json.NewEncoder(&b).Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	benchtest.Golden(t, "rows.json", b.Bytes())
}

// promised are the fields of a row that scripts rely on.
var promised = []string{
	"test", "fabric", "transport", "size", "inline", "signaled", "window",
	"ops", "seconds", "ops_per_sec", "p50_us", "p99_us",
}

func TestRowKeepsItsPromise(t *testing.T) {
	columns := out.Columns[Row]()
	for _, name := range promised {
		if !slices.Contains(columns, name) {
			t.Errorf("a row has no field %q", name)
		}
	}
}

func TestRowOfACase(t *testing.T) {
	c := Case{
		Test: "read", Kind: kindInbound, Op: fabric.OpRead, Fabric: "shm", Transport: fabric.RC,
		Size: 64, Window: 1, Threads: 2, QPs: 1, Signaled: true,
	}
	r := rowOf(&c, bench.Measure{Trial: 7, Ops: 3, OpsPerSec: 1.5, P50: 0.0301, ServerCPU: ptr(1.0)}, 2)
	if r.OpsPerSec != 1.5 || r.P50 != 0.0301 || r.Trial != 7 || r.Transport != "rc" || !r.Signaled || r.Lost != 2 || r.ServerCPU != nil {
		t.Errorf("row %+v", r)
	}
	b, err := json.Marshal(rowOf(&c, bench.Measure{}, 0))
	if err != nil || !bytes.Contains(b, []byte(`"ops_per_sec":0`)) {
		t.Errorf("a case without time became %s, %v", b, err)
	}
}
