package calls

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/bench/out"

	"github.com/remora-kv/remora/test/benchtest"
)

func ptr[T any](v T) *T { return &v }

// sampleRows are rows of all sorts.
func sampleRows() []Row {
	one := Row{
		Path: PathRFP, Fabric: "shm", Size: 32, ResultSize: 32, Clients: 1, Window: 1, Batch: 1, Measure: bench.Measure{Ops: 4_500_000, Seconds: 3.000001, OpsPerSec: 1_499_999.5, Mean: 0.655, P50: 0.6402, P95: 0.7, P99: 0.8101, P999: 2.5, ClientCPU: ptr(99.9), ServerCPU: ptr(100.0), Trial: 1, TimedEvery: 16, ClockNanos: 10.41, Samples: 281_250},

		Verbs: load.VerbsPerOp{Write: 1, Read: 1.05}, Misses: 0.05, Mode: "fetch",
		Threads: 1, Cores: 1, Poll: "adaptive", Retries: 5, FetchSize: 44,
	}
	slow, fast := one, one
	slow.Trial, slow.OpsPerSec = 2, 1_400_000
	fast.Trial, fast.OpsPerSec = 3, 1_600_000
	return []Row{
		one, slow, fast,
		{
			Path: PathReply, Fabric: "tcp", Size: 32, ResultSize: 4096, Clients: 8, Connected: 992, Window: 4, Batch: 16,
			ProcessUs: 7.5, Measure: bench.Measure{Ops: 900, Seconds: 1, OpsPerSec: 900, Mean: 1300, P50: 1234, P95: 2000, P99: 2_500_000, P999: 2_600_000, Errors: 3, ClientCPU: ptr(1.5), ServerCPU: ptr(0.0), Trial: 1, TimedEvery: 1, Samples: 900},
			Verbs: load.VerbsPerOp{Write: 0.125, Send: 0.001}, Switches: 2, Mode: "mixed",
			Threads: 1, Cores: 2, Poll: "busy", Retries: 5, FetchSize: 256, NoInline: true, SignalAll: true,
		},
		{
			Path: PathFetch, Fabric: "loop", Size: 8, ResultSize: 8, Clients: 1, Goroutines: 64, Window: 8, Batch: 32, Measure: bench.Measure{Ops: 10, Seconds: 1, OpsPerSec: 10, P50: 25, P99: 80.5, P999: 99, Trial: 1, TimedEvery: 1, Samples: 10},
			Verbs: load.VerbsPerOp{Write: 0.1, Read: 0.2}, Mode: "fetch",
			Cores: 1, Poll: "adaptive", Retries: 5, FetchSize: 64, LimitUs: 20,
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
	"path", "fabric", "size", "result_size", "clients", "connected", "goroutines", "window", "batch", "process_us",
	"ops", "seconds", "ops_per_sec", "mean_us", "p50_us", "p95_us", "p99_us", "p999_us", "errors", "verbs_per_op_write",
	"verbs_per_op_read", "verbs_per_op_send", "verbs_per_op_atomic",
	"misses_per_op", "switches", "mode", "client_cpu_pct", "server_cpu_pct",
}

func TestRowKeepsItsPromise(t *testing.T) {
	columns := out.Columns[Row]()
	for _, name := range promised {
		if !slices.Contains(columns, name) {
			t.Errorf("a row has no field %q", name)
		}
	}
}

func TestTable(t *testing.T) {
	r := Report{bench.Report[Row]{
		Rows: sampleRows(),
		Remarks: bench.Remarks{
			Notes:    []string{"CPUs: client 0, server 1", "clock: fast"},
			Warnings: []string{"ONE CPU ONLY"},
		},
	}}
	var b bytes.Buffer
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	benchtest.Golden(t, "table.txt", b.Bytes())
}
