package report

import (
	"math"
	"testing"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/bench/target/cache"
)

// hostile is what a server might call itself.
const hostile = `</script><script>document.title="taken"</script><img src=x onerror="document.title='taken'">{{.}}` + "\x00\x1b]0;\u2028'\"`&=1+1"

// sampleRow is a trial of a path under a load, with a stall in the middle.
func sampleRow(path string, batch, trial int, rate, us float64) cache.Row {
	longest := 300 * us
	r := cache.Row{
		Path: path, Fabric: "shm", Engine: "mica", GetPct: 95, Dist: "uniform", Keys: 1_000_000, KeySize: 16, ValueSize: 32,
		Clients: 1, Window: 1, Batch: batch, Measure: bench.Measure{Ops: uint64(3 * rate), Seconds: 3, OpsPerSec: rate * (1 + 0.02*float64(trial%3)), Mean: 1.1 * us, P50: us, P95: 1.6 * us, P99: 2.4 * us, P999: 9 * us, Max: &longest, Trial: trial, TimedEvery: 1, Samples: int64(3 * rate)},
		Cores: 1, Poll: "adaptive",
		Seed: 1, ServerVersion: "1.0",
	}
	for i := range 40 {
		beyond := math.Pow(10, -float64(i)/8)
		r.Quantiles = append(r.Quantiles, load.Quantile{1 - beyond, us * (0.6 + 0.4*math.Pow(float64(i)/2.4, 1.5))})
	}
	r.Quantiles = append(r.Quantiles, load.Quantile{1, *r.Max})
	r.Timeline = &load.Timeline{EveryMillis: 30}
	for i := range 100 {
		wave := 1 + 0.04*math.Sin(float64(i)/5) + 0.02*math.Sin(float64(i*(3+batch)))
		if i > 60 && i < 64 {
			wave = 0.1
		}
		r.Timeline.Ops = append(r.Timeline.Ops, uint64(rate*0.03*wave))
	}
	return r
}

// sampleReport compares three servers under several loads.
func sampleReport() *Report[cache.Row] {
	r := &Report[cache.Row]{
		Title: "rfp, memcached and redis", Command: []string{"remora", "bench", "--path", "rfp,memcached,redis", "--batch", "1,4,16", "--trials", "3"},
		Version: "v0.1.0", When: time.Date(2026, 11, 16, 1, 2, 3, 0, time.UTC), Machine: []bench.Fact{{Name: "kernel", Value: "linux 6.1.0-18-amd64"}},
		Remarks: bench.Remarks{
			Notes:    []string{"CPUs: client 0, server 1", "load: closed loop of 16 B keys, each client has window x batch operations in flight; seed 1"},
			Warnings: []string{"the machine was not quiet: other processes used more than a tenth of a CPU in some trials"},
		},
	}
	for trial := 1; trial <= 3; trial++ {
		for k, batch := range []int{1, 4, 16} {
			up := float64(k + 1)
			r.Rows = append(r.Rows,
				sampleRow("rfp", batch, trial, 1e6*up*up, 0.95*up),
				sampleRow("memcached", batch, trial, 12e3*up*2, 80*up),
				sampleRow("redis", batch, trial, 10e3*up*2.2, 92*up))
		}
	}
	return r
}

// manyRows are as many cases, of six targets.
func manyRows(n int) (rows []cache.Row) {
	paths := cache.Paths()
	for i := range n {
		row := sampleRow(paths[i%6], 1, 1, 1e5*float64(1+i%6)*math.Sqrt(float64(1+i/6)), 3*float64(1+i%6)*float64(1+i/12))
		row.Window, row.ValueSize = 1+i/6%6, 8<<(i/36)
		rows = append(rows, row)
	}
	return rows
}

func write(t *testing.T, r *Report[cache.Row]) string {
	t.Helper()
	dir := t.TempDir()
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}
