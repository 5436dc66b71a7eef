package cache

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/out"

	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/test/benchtest"
)

func ptr[T any](v T) *T { return &v }

// sampleRows are rows of all sorts, in the order in which they are measured.
func sampleRows() []Row {
	one := Row{
		Path: PathRFP, Engine: "mica", Fabric: "shm", GetPct: 95, Dist: DistUniform, Keys: 1_000_000, KeySize: 16, ValueSize: 32,
		Clients: 1, Window: 1, Batch: 1, Measure: bench.Measure{Ops: 3_000_000, Seconds: 3.000001, OpsPerSec: 999_999.7, Mean: 0.955, P50: 0.9402, P95: 1.1, P99: 1.2101, P999: 2.5, ServerCPU: ptr(100.0), ClientCPU: ptr(99.9), Trial: 1, TimedEvery: 16, ClockNanos: 10.41, Samples: 187_500},
		Verbs:  load.VerbsPerOp{Write: 1, Read: 1.05},
		Client: clientSession, ServerVersion: "v1.0.0", Cores: 1, Poll: "adaptive", Placement: "own",
		FetchSize: 63, Seed: 1,
	}
	mem := Row{
		Path: PathMemcached, Engine: PathMemcached, Fabric: "tcp", GetPct: 95, Dist: DistUniform, Keys: 1_000_000, KeySize: 16,
		ValueSize: 32, Clients: 1, Window: 1, Batch: 1, Measure: bench.Measure{Ops: 33_000, Seconds: 3, OpsPerSec: 11_000, Mean: 88, P50: 76, P95: 130, P99: 220, P999: 3050, Max: ptr(51.2), ServerCPU: ptr(60.0), ClientCPU: ptr(31.0), Trial: 1, TimedEvery: 1, Samples: 33_000},
		Client: clientPipeline, ServerVersion: "1.6.18", Cores: 1,
		Poll: "adaptive", Seed: 1, Placement: "own", Protocol: ProtocolMeta, Items: ptr(int64(1_000_000)), BytesPerItem: ptr(104.39), index: 1,
	}
	again, memAgain := one, mem
	again.Trial, again.OpsPerSec = 2, 1_100_000
	memAgain.Trial, memAgain.OpsPerSec = 2, 12_000
	return []Row{
		one, mem, again, memAgain,
		{
			Path: PathReply, Engine: "lru8", Fabric: "loop", GetPct: 99.5, Dist: DistZipf, Theta: 0.99, Keys: 256, KeySize: 16,
			ValueSize: 1 << 20, Clients: 2, Goroutines: 1000, Window: 8, Batch: 32, Measure: bench.Measure{Ops: 900, Seconds: 1, OpsPerSec: 900, Mean: 1300, P50: 1234, P95: 2000, P99: 2_500_000, P999: 2_600_000, Errors: 3, Trial: 1, TimedEvery: 1, Samples: 900},
			ErrorsByKind: map[string]uint64{"out of memory": 1, "too large": 2}, Misses: 4, Gets: 895, HitRatio: ptr(0.995531), Verbs: load.VerbsPerOp{Write: 0.125, Send: 0.001},
			Client: clientRemora, Cores: 2, Poll: "busy", Placement: "busy-client", Seed: 7, index: 2,
		},
		{
			Path: PathRFP, Engine: "mica", Fabric: "shm", GetPct: 100, Dist: DistScanMixed, Theta: 0.8, ScanPct: 12.5, Keys: 200_000,
			KeySize: 16, ValueSize: 32, Clients: 1, Window: 1, Batch: 1, Measure: bench.Measure{Ops: 1000, Seconds: 1, OpsPerSec: 1000, Mean: 1, P50: 1, P95: 1, P99: 1, P999: 1, Trial: 1, TimedEvery: 1, Samples: 1000},
			Verbs: load.VerbsPerOp{Read: 1}, Client: clientSession, Cores: 1, Poll: "adaptive", Placement: "own",
			Links: 1000, Recency: "batched", Cache: 10, Memory: 1_600_000, Items: ptr(int64(20_017)), Fill: true, Gets: 900, Misses: 100, HitRatio: ptr(0.888889), Seed: 1, index: 3,
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
	"path", "engine", "fabric", "get_pct", "dist", "theta", "keys", "key_size", "value_size", "clients", "window", "batch",
	"ops", "seconds", "ops_per_sec", "mean_us", "p50_us", "p95_us", "p99_us", "p999_us", "errors", "misses", "verbs_per_op_write",
	"verbs_per_op_read", "verbs_per_op_send", "verbs_per_op_atomic",
	"server_cpu_pct",
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
	r := Report{Report: bench.Report[Row]{
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
