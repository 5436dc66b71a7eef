package cache_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/target/cache"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/test/benchtest"
	"github.com/remora-kv/remora/test/scale"
)

// What a client does in a test.
const (
	testOps    = 200
	testKeys   = 300
	testMemory = 32 << 20
)

// needs skips a test of a server that is not installed; CI installs them all.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
}

// measure runs cfg and checks its rows as a script would see them.
func measure(t *testing.T, cfg cache.Config) *cache.Report {
	t.Helper()
	if cfg.Ops == 0 {
		cfg.Ops = testOps
	}
	if cfg.Keys == 0 {
		cfg.Keys = testKeys
	}
	cfg.Memory = testMemory
	env := envOf(benchtest.Server)
	var lines bytes.Buffer
	env.Row = func(r cache.Row) error { return json.NewEncoder(&lines).Encode(r) }
	report, err := cache.Run(t.Context(), cfg, env)
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Rows) == 0 || len(report.Notes) == 0 {
		t.Fatalf("report with %d rows and %d notes", len(report.Rows), len(report.Notes))
	}
	for i := range report.Rows {
		r := &report.Rows[i]
		checkRow(t, r, cfg.Ops)
		var again cache.Row
		line, _ := lines.ReadBytes('\n')
		if err := json.Unmarshal(line, &again); err != nil || again.Ops != r.Ops || again.Path != r.Path {
			t.Errorf("row became %q, %v", line, err)
		}
	}
	if lines.Len() != 0 {
		t.Errorf("more lines than rows: %q", lines.String())
	}
	return report
}

func checkRow(t *testing.T, r *cache.Row, ops int) {
	t.Helper()
	if want := uint64(ops * max(r.Processes, 1) * r.Clients * max(r.Goroutines, 1)); r.Ops != want {
		t.Errorf("%d operations, want %d: %+v", r.Ops, want, r)
	}
	if r.Seconds <= 0 || r.OpsPerSec <= 0 || r.P50 <= 0 || r.P99 < r.P50 || r.P999 < r.P99 || r.Mean <= 0 || r.Samples == 0 {
		t.Errorf("numbers that cannot be: %+v", r)
	}
	if r.Errors != 0 || r.Misses != 0 {
		t.Errorf("%s: %d errors and %d misses", r.Path, r.Errors, r.Misses)
	}
	if r.ServerVersion == "" || r.Client == "" || r.Engine == "" || r.Fabric == "" {
		t.Errorf("nobody knows what was measured: %+v", r)
	}
	verbs := r.Verbs.Write + r.Verbs.Read
	if r.Path == cache.PathSendRecv {
		verbs = r.Verbs.Send
	}
	others := []string{cache.PathMemcached, cache.PathRedis, cache.PathText, cache.PathNull}
	if slices.Contains(others, r.Path) != (verbs == 0) {
		t.Errorf("%s has %v verbs for an operation", r.Path, verbs)
	}
}

// C14: the null server bears what others bear, and has neither verbs nor CPU.
func TestNullServer(t *testing.T) {
	for name, cfg := range map[string]cache.Config{
		"batches":    {Windows: []int{3}, Batches: []int{4}, Clients: []int{1, 2}},
		"goroutines": {Goroutines: []int{5}, Dists: cache.Dists()},
		"rate":       {Rates: []float64{1e6}},
	} {
		cfg.Paths = []string{cache.PathNull}
		for _, r := range measure(t, cfg).Rows {
			if r.Fabric != provider.Shm || r.ServerCPU == nil || *r.ServerCPU != 0 || r.Memory != 0 || r.Cores != 0 {
				t.Errorf("%s: the null server is %+v", name, r)
			}
		}
	}
}

// Every path runs on every fabric, and every engine, and does exactly as many
// operations as it was asked for, each with the right result.
func TestEveryTargetOfOurs(t *testing.T) {
	report := measure(t, cache.Config{
		Paths:   []string{cache.PathRFP, cache.PathReply, cache.PathHerd, cache.PathSendRecv},
		Fabrics: []string{"loop", "shm", "tcp"}, Engines: []string{"mica", "lru8"},
		Windows: []int{3}, Batches: []int{4},
	})
	if want := 4 * 3 * 2; len(report.Rows) != want {
		t.Errorf("%d rows, want %d", len(report.Rows), want)
	}
	engines := measure(t, cache.Config{Fabrics: []string{"loop"}, Engines: server.Engines()})
	searches := measure(t, cache.Config{
		Fabrics: []string{"loop", "shm", "tcp"}, Windows: []int{3},
		Paths: []string{cache.PathOneSided, cache.PathOneSidedFAA, cache.PathPilaf, cache.PathFarm, cache.PathFarmVar},
	})
	if len(engines.Rows) != len(server.Engines()) || len(searches.Rows) != 5*3 {
		t.Errorf("%d rows of engines, %d of searches", len(engines.Rows), len(searches.Rows))
	}
	for i := range report.Rows {
		if r := &report.Rows[i]; r.ClientCPU == nil || r.ServerCPU == nil {
			t.Errorf("%s on %s: nobody knows the CPU time", r.Path, r.Fabric)
		}
	}
}

// The text door is driven as other servers are, with every engine.
func TestText(t *testing.T) {
	for name, cfg := range map[string]cache.Config{
		"one at a time":  {Engines: server.Engines()},
		"pipelined":      {Windows: []int{4}, Batches: []int{8}, Clients: []int{2}, Cores: 2},
		"large and zipf": {ValueSizes: []int{1 << 20}, Keys: 5, Ops: 40, Dists: []string{"zipf"}, GetPcts: []float64{50}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Paths = []string{cache.PathText}
			report := measure(t, cfg)
			if want := max(len(cfg.Engines), 1); len(report.Rows) != want {
				t.Errorf("%d rows, want %d", len(report.Rows), want)
			}
			if r := &report.Rows[0]; r.Engine != server.DefaultEngine || r.Fabric != "tcp" || r.ServerCPU == nil {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestOthers(t *testing.T) {
	needs(t, "memcached", "redis-server")
	others := []string{cache.PathMemcached, cache.PathRedis}
	for name, cfg := range map[string]cache.Config{
		"one at a time":  {},
		"pipelined":      {Windows: []int{4}, Batches: []int{8}, Clients: []int{2}},
		"unix and busy":  {Network: "unix", Poll: fabric.Busy},
		"goroutines":     {Goroutines: []int{7}, Ops: 30},
		"large and zipf": {ValueSizes: []int{1 << 20}, Keys: 5, Ops: 40, Dists: []string{"zipf"}, GetPcts: []float64{50}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Paths = others
			report := measure(t, cfg)
			if len(report.Rows) != 2 {
				t.Errorf("%d rows", len(report.Rows))
			}
			for i := range report.Rows {
				if r := &report.Rows[i]; !strings.Contains(r.ServerVersion, ".") || r.ServerCPU == nil || r.Engine != r.Path {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}

func TestParameters(t *testing.T) {
	for name, cfg := range map[string]cache.Config{
		"gets only":          {GetPcts: []float64{100}},
		"puts only":          {GetPcts: []float64{0}},
		"zipf":               {Dists: cache.Dists(), Thetas: []float64{0.5, 1, 1.3}},
		"scans":              {Dists: []string{cache.DistScanMixed}, ScanPct: 90, Goroutines: []int{0, 3}, Ops: 50},
		"hotspot":            {Dists: []string{cache.DistHotspot}, HotOps: 99, HotKeys: 1, Goroutines: []int{0, 3}, Ops: 50},
		"latest":             {Dists: []string{cache.DistLatest}, GetPcts: []float64{30}, Clients: []int{1, 3}, Windows: []int{8}, Batches: []int{4}},
		"latest, goroutines": {Dists: []string{cache.DistLatest}, GetPcts: []float64{60}, Clients: []int{2}, Goroutines: []int{5}, Ops: 50},
		"workloads":          {Workloads: cache.Workloads(), Windows: []int{3}, Batches: []int{2}, Goroutines: []int{0, 3}, Ops: 100},
		"at a rate":          {Workloads: []string{cache.YCSBD, cache.YCSBF}, Rates: []float64{20_000}, Windows: []int{4}},
		"sizes":              {ValueDists: []string{"weibo", "etc", "uniform:1-3000"}, KeyDist: "etc", Windows: []int{4}, Batches: []int{8}, Goroutines: []int{0, 3}},
		"small":              {KeySize: 3, ValueSizes: []int{1, 8}},
		"long keys":          {KeySize: 1000, ValueSizes: []int{20}},
		"one frame":          {ValueSizes: []int{1024, 1990}, Windows: []int{2}, Batches: []int{4}},
		"many frames":        {ValueSizes: []int{10_000, 300_000}, Keys: 20, Ops: 60, Windows: []int{2}},
		"more than fits":     {Batches: []int{96}, Windows: []int{2}},
		"many clients":       {Clients: []int{3}, Cores: 2, Windows: []int{2}},
		"many cores":         {Cores: 3, Windows: []int{4}, Batches: []int{4}},
		"busy":               {Poll: fabric.Busy},
		"R and F":            {Retries: 2, FetchSize: 16},
		"goroutines":         {Goroutines: []int{1, 9}, Ops: 50},
		"goroutines, cores":  {Goroutines: []int{80}, Clients: []int{2}, Cores: 2, Ops: 10},
		"one key":            {Keys: 1, Dists: []string{"zipf"}},
	} {
		for _, fab := range []string{"loop", "shm"} {
			if fab == "shm" && scale.Race {
				continue // the detector sees one end at a time
			}
			cfg.Fabrics = []string{fab}
			t.Run(name+"/"+fab, func(t *testing.T) { measure(t, cfg) })
		}
	}
}

// C8: a trial of every target, then the next; the table has a line for each.
func TestTrialsAreInterleaved(t *testing.T) {
	report := measure(t, cache.Config{
		Trials: 2, Fabrics: []string{"loop"}, Paths: []string{cache.PathRFP, cache.PathReply}, ValueSizes: []int{8, 16},
	})
	var got []string
	for i := range report.Rows {
		r := &report.Rows[i]
		got = append(got, fmt.Sprint(r.ValueSize, r.Path, r.Trial))
	}
	want := "[8rfp1 8reply1 8rfp2 8reply2 16rfp1 16reply1 16rfp2 16reply2]"
	if fmt.Sprint(got) != want {
		t.Errorf("measured %v, want %s", got, want)
	}
	var table bytes.Buffer
	if err := report.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(table.String(), " % of 2"); n != 4 {
		t.Errorf("%d lines of two trials, want 4:\n%s", n, table.String())
	}
}

// By time, with a warm-up; the same seed makes the same operations.
func TestDuration(t *testing.T) {
	for _, cfg := range []cache.Config{{Windows: []int{8}}, {Clients: []int{2}}, {Goroutines: []int{4}}} {
		cfg.Warmup, cfg.Duration, cfg.Keys, cfg.Memory = time.Millisecond, 5*time.Millisecond, testKeys, testMemory
		report, err := cache.Run(t.Context(), cfg, envOf(benchtest.Server))
		if err != nil {
			t.Fatal(err)
		}
		if r := report.Rows[0]; r.Seconds < 0.005 || r.Ops == 0 {
			t.Errorf("%d operations in %v s, asked for 5 ms", r.Ops, r.Seconds)
		}
		// After a slow warm-up all operations are timed, which may be enough.
		if few := report.Rows[0].Samples < 10_000; strings.Contains(fmt.Sprint(report.Warnings), "p99.9") != few {
			t.Errorf("of a p99.9 of %d samples is said %q", report.Rows[0].Samples, report.Warnings)
		}
	}
}

// A cache that is too small for the keys misses, and bench says so.
func TestMissesAreCounted(t *testing.T) {
	report, err := cache.Run(t.Context(), cache.Config{
		Fabrics: []string{"loop"}, Keys: 20_000, ValueSizes: []int{1000}, Memory: 4 << 20, Ops: 2000,
	}, envOf(benchtest.Server))
	if err != nil {
		t.Fatal(err)
	}
	if r := report.Rows[0]; r.Misses == 0 || r.Misses > r.Ops || !strings.Contains(fmt.Sprint(report.Warnings), "evicted keys") {
		t.Errorf("%d misses of %d, warnings %q", r.Misses, r.Ops, report.Warnings)
	}
}

// With Fill a cache that is too small is as full as it can be of what is popular: more of
// the gets hit than without, and every miss is followed by a put. It is not warned of.
func TestMissesAreFilled(t *testing.T) {
	for _, goroutines := range []int{0, 2} {
		cfg := cache.Config{
			Fabrics: []string{"loop"}, Keys: 4000, ValueSizes: []int{100}, Memory: 128 << 10, Ops: 2000, WarmupOps: 2000,
			Dists: []string{cache.DistZipf}, GetPcts: []float64{100}, Goroutines: []int{goroutines}, Windows: []int{3},
		}
		plain, err := cache.Run(t.Context(), cfg, envOf(benchtest.Server))
		if err != nil {
			t.Fatal(err)
		}
		cfg.Fill = true
		filled, err := cache.Run(t.Context(), cfg, envOf(benchtest.Server))
		if err != nil {
			t.Fatal(err)
		}
		p, f := plain.Rows[0], filled.Rows[0]
		if p.Gets != p.Ops || p.Fill || !f.Fill || *p.HitRatio >= *f.HitRatio || strings.Contains(fmt.Sprint(filled.Warnings), "missed") {
			t.Errorf("%+v\nand filled\n%+v, warnings %q", p, f, filled.Warnings)
		}
		// Where the trial begins and ends, some are owed.
		most := uint64(f.Window * f.Batch * max(goroutines, 1))
		if puts := f.Ops - f.Gets; puts > f.Misses+most || f.Misses > puts+most || f.Misses == 0 {
			t.Errorf("%d misses and %d puts", f.Misses, puts)
		}
	}
}

// A cache of a share of the keys holds that share of them, whatever its engine takes for
// an item, and goes on to.
func TestCacheOfAShare(t *testing.T) {
	if scale.Race {
		t.Skip("hit ratios have nothing to do with races, and are compared without")
	}
	const keys = 6000
	for name, cfg := range map[string]cache.Config{
		"mica":         {},
		"mica, links":  {Links: []int{1000}},
		"mica, cores":  {Cores: 2, ValueSizes: []int{200}},
		"lru8":         {Engines: []string{"lru8"}},
		"onesided":     {Paths: []string{cache.PathOneSided}},
		"onesided-faa": {Paths: []string{cache.PathOneSidedFAA}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.Fabrics, cfg.Keys, cfg.Ops, cfg.Caches, cfg.Fill = []string{"loop"}, keys, 1000, []float64{50, 100}, true
			report, err := cache.Run(t.Context(), cfg, envOf(benchtest.Server))
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range []float64{50, 100} {
				r := &report.Rows[i]
				if got := float64(*r.Items) / keys * 100; r.Cache != want || got < 0.95*want || got > 1.05*want || r.Memory == 0 {
					t.Errorf("%g %% of the keys are %g %%: %+v", want, got, r)
				}
				if hits := *r.HitRatio; (hits > 0.9) != (want == 100) {
					t.Errorf("a hit ratio of %g with %g %% of the keys", hits, want)
				}
			}
		})
	}
}

// serve starts a server that is not of bench.
func serve(t *testing.T, url string) string {
	t.Helper()
	s, err := server.Start(server.Config{Listen: []string{url}, Memory: 64 << 20, Version: "running"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.Addrs()[0].String()
}

func TestAServerThatRuns(t *testing.T) {
	url := serve(t, "tcp://127.0.0.1:0")
	for _, noLoad := range []bool{false, true} {
		report := measure(t, cache.Config{
			Server: url, NoLoad: noLoad, Trials: 2, Paths: []string{cache.PathRFP, cache.PathHerd, cache.PathSendRecv}, Windows: []int{2},
		})
		for i := range report.Rows {
			if r := &report.Rows[i]; r.Fabric != "tcp" || r.Engine != "mica" || r.ServerVersion != "running" || r.ServerCPU != nil {
				t.Errorf("%+v", r)
			}
		}
	}
	_, err := cache.Run(t.Context(), cache.Config{Server: "shm:" + filepath.Join(t.TempDir(), "nobody"), Ops: 1}, envOf(benchtest.Server))
	if err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("a server that does not run gave %v", err)
	}
}

func TestADeadServerSaysWhatItWrote(t *testing.T) {
	_, err := cache.Run(t.Context(), cache.Config{Ops: 1}, envOf(benchtest.Broken))
	if err == nil || !strings.Contains(err.Error(), "no such luck") || !strings.Contains(err.Error(), "server process ended") {
		t.Errorf("a server that died gave %v", err)
	}
}

func TestAServerThatCannotBeStarted(t *testing.T) {
	env := envOf(benchtest.Server)
	env.Server = []string{filepath.Join(t.TempDir(), "missing")}
	if _, err := cache.Run(t.Context(), cache.Config{Ops: 1}, env); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing server gave %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	_, err := cache.Run(t.Context(), cache.Config{Ops: 1, Paths: []string{cache.PathMemcached}}, env)
	if err == nil || !strings.Contains(err.Error(), "Debian package memcached") {
		t.Errorf("without memcached: %v", err)
	}
}

func TestMistakesOfTheUser(t *testing.T) {
	for want, cfg := range map[string]cache.Config{
		`"fax" is unknown: use rfp`:              {Paths: []string{"fax"}},
		`"ether" is unknown: use loop`:           {Fabrics: []string{"ether"}},
		`"btree" is unknown: use mica`:           {Engines: []string{"btree"}},
		`"sctp" is unknown: use tcp`:             {Network: "sctp"},
		`"pareto" is unknown`:                    {Dists: []string{"pareto"}},
		"--scan-pct 100.5":                       {ScanPct: 100.5},
		"--theta 0 is not above 0":               {Thetas: []float64{0}},
		"--get-pct 101":                          {GetPcts: []float64{101}},
		"--keys -1":                              {Keys: -1},
		"only 256 keys of --key-size 2":          {KeySize: 2},
		"only 16 keys of --key-size 1":           {KeyDist: "uniform:1-9"},
		"goes beyond 250":                        {KeyDist: "uniform:100-300", Paths: []string{cache.PathMemcached}},
		`"gauss" is not a distribution of sizes`: {ValueDists: []string{"gauss"}},
		"ycsb-e scans ranges of keys":            {Workloads: []string{"ycsb-e"}},
		"of --workload ycsb-f":                   {Workloads: []string{cache.YCSBF}, GetPcts: []float64{60}},
		"--rmw-pct -1":                           {RMWPcts: []float64{-1}},
		"--hot-ops 101":                          {HotOps: 101},
		"--hot-keys -1":                          {HotKeys: -1},
		"need a key each":                        {Dists: []string{cache.DistLatest}, Keys: 3, Clients: []int{4}},
		"--key-size 300 is not between":          {KeySize: 300, Paths: []string{cache.PathMemcached}},
		"--value-size 0":                         {ValueSizes: []int{0}},
		"--clients 0":                            {Clients: []int{0}},
		"--goroutines -1":                        {Goroutines: []int{-1}},
		"--window 5000":                          {Windows: []int{5000}},
		"--batch -1":                             {Batches: []int{-1}},
		"--fetch-size 8":                         {FetchSize: 8},
		"--memory of 5 bytes":                    {Memory: 5},
		"--cache 101% is not above":              {Caches: []float64{101}},
		"--cache and --memory both":              {Caches: []float64{10}, Memory: 1 << 20},
		"--cache is for a server":                {Caches: []float64{10}, Server: "tcp://x:1"},
		"--cache counts what stays":              {Caches: []float64{10}, Paths: []string{cache.PathRedis}},
		"must not be negative":                   {Duration: -1},
		"--trials -1 is not between 1":           {Trials: -1},
		"--no-load is for a server":              {NoLoad: true},
		"--server is one of Remora":              {Server: "tcp://x:1", Paths: []string{cache.PathRedis}},
		"which does not speak":                   {Paths: []string{cache.PathMemcached}, Protocols: []string{cache.ProtocolMeta}, Goroutines: []int{3}},
		`"binary" is unknown: use text`:          {Protocols: []string{"binary"}},
		"--path text has none":                   {Paths: []string{cache.PathText}, Goroutines: []int{3}},
		"nobody else can be reached":             {Server: "loop:x"},
		"choose the path with --path":            {Server: "tcp://x:1?path=reply"},
		"--server: ":                             {Server: "gopher://x"},
	} {
		report, err := cache.Run(t.Context(), cfg, envOf(benchtest.Server))
		if !errors.Is(err, bench.ErrUsage) || !strings.Contains(fmt.Sprint(err), want) || len(report.Rows) != 0 {
			t.Errorf("%+v gave %v, want %q", cfg, err, want)
		}
	}
}

// A run that is cancelled ends with what it has, and leaves nothing behind.
func TestCancel(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	for name, cfg := range map[string]cache.Config{
		"one":        {},
		"batches":    {Clients: []int{2}, Windows: []int{4}, Batches: []int{4}},
		"goroutines": {Goroutines: []int{3}},
		"loop":       {Fabrics: []string{"loop"}},
		"memcached":  {Paths: []string{cache.PathMemcached}, Network: "unix"},
		"go-redis":   {Paths: []string{cache.PathRedis}, Goroutines: []int{3}},
	} {
		t.Run(name, func(t *testing.T) {
			if len(cfg.Paths) != 0 {
				needs(t, "memcached", "redis-server")
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			env := envOf(benchtest.Server)
			env.Progress = func(p bench.Progress) {
				if p.Trial == 1 {
					cancel()
				}
			}
			cfg.Duration, cfg.Keys, cfg.Memory = time.Hour, testKeys, testMemory
			_, err := cache.Run(ctx, cfg, env)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled, and got %v", err)
			}
			if left, _ := os.ReadDir(tmp); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// The loop fabric needs no other process.
func TestLoopNeedsNoServerProcess(t *testing.T) {
	if _, err := cache.Run(t.Context(), cache.Config{Fabrics: []string{"loop"}, Ops: 10, Keys: 10, Memory: testMemory}, cache.Env{Providers: provider.New()}); err != nil {
		t.Error(err)
	}
}
