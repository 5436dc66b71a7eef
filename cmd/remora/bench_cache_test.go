package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/remora-kv/remora/server"
)

// smallBench is bench with few keys and operations.
func smallBench(args string) []string {
	return append([]string{"bench", "cache", "--keys", "200", "--ops", "300", "--memory", "64MiB"}, strings.Fields(args)...)
}

func TestBenchPrintsATable(t *testing.T) {
	code, out, errOut := runCmd(t, smallBench("--path rfp,reply --value-size 8,64 --dist zipf")...)
	if code != exitOK || errOut != "" {
		t.Fatalf("exit code %d, standard error %q", code, errOut)
	}
	for _, words := range []string{
		"ops/s", "p99.9", "rfp ", "reply ", "64 B", "█", "200 zipf 0.99", "CPUs: ", "clock: ", "waiting: adaptive",
		"servers: remora, a process of its own", "WARNING: fewer than 10000",
	} {
		if !strings.Contains(out, words) {
			t.Errorf("the table does not contain %q:\n%s", words, out)
		}
	}
}

// With --strict a warning is a failure, after everything was written.
func TestBenchIsStrict(t *testing.T) {
	for _, tc := range []struct {
		args string
		code int
	}{{"", exitOK}, {"--strict", exitFailure}} {
		code, out, errOut := runCmd(t, smallBench("--fabric loop "+tc.args)...)
		if code != tc.code || !strings.Contains(out, "ops/s") || strings.Contains(errOut, "--strict: ") != (tc.code != exitOK) {
			t.Errorf("%q: exit code %d, %q and %q", tc.args, code, out, errOut)
		}
	}
}

// benchKeys are the keys of a line, as DESIGN has them, and those that follow.
const benchKeys = "batch bytes_per_item cache_pct client client_cpu_pct clients clock_ns cores dist engine errors fabric fetch_size fill generator_ops_per_sec get_pct gets goroutines " +
	"hit_ratio items key_size keys links max_us mean_us memory misses ops ops_per_sec p50_us p95_us p999_us p99_us path placement poll prefetch quantiles rate recency retries samples scan_pct seconds seed " +
	"server_cpu_pct server_version theta timed_every trial value_size verbs_per_op warnings window"

func TestBenchPrintsNothingButJSON(t *testing.T) {
	for _, fabric := range []string{"loop", "shm", "tcp"} {
		code, out, _ := runCmd(t, smallBench("--json --window 1,4 --fabric "+fabric)...)
		if code != exitOK {
			t.Fatalf("%s: exit code %d", fabric, code)
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if len(lines) != 2 {
			t.Fatalf("%s: %d lines, want one for each window:\n%s", fabric, len(lines), out)
		}
		for _, line := range lines {
			var row map[string]any
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatalf("%s: %v in %q", fabric, err, line)
			}
			if row["path"] != "rfp" || row["fabric"] != fabric || row["ops"] != 300.0 || row["misses"] != 0.0 {
				t.Errorf("%s: %s", fabric, line)
			}
			delete(row, "timeline") // of a trial that took long enough
			if keys := strings.Join(slices.Sorted(maps.Keys(row)), " "); keys != benchKeys {
				t.Errorf("%s: the keys of a line are\n%s, want\n%s", fabric, keys, benchKeys)
			}
		}
	}
}

func TestBenchFlags(t *testing.T) {
	for args, want := range map[string]string{
		"":                               `"get_pct":95,"dist":"uniform","theta":0,"keys":200,"key_size":16,"value_size":32,"clients":1,"window":1,"batch":1,"trial":1,"ops":300`,
		"--path reply --engine lru8":     `"path":"reply","engine":"lru8"`,
		"--path herd --window 4":         `"path":"herd","engine":"mica"`,
		"--path sendrecv --window 4":     `"path":"sendrecv","engine":"mica"`,
		"--path herd,rfp --prefetch off": `"prefetch":"off"`,
		"--prefetch off,on":              `"prefetch":"on"`,
		"--link-cache 100 --recency faa": `"links":100,"recency":"faa"`,
		"--link-cache -1":                `"links":-1,"recency":"batched"`,
		"--path herd --link-cache 100":   `"links":0,"recency":""`,
		"--get-pct 99.5":                 `"get_pct":99.5`,
		"--dist zipf --theta 0.5":        `"dist":"zipf","theta":0.5`,
		"--dist scan-mixed":              `"dist":"scan-mixed","theta":0.99`,
		"--dist scan-mixed --scan-pct 5": `"scan_pct":5,`,
		"--dist zipf --scan-pct 5":       `"scan_pct":0,`,
		"--dist hotspot --hot-ops 90":    `"hot_ops_pct":90,"hot_keys_pct":20`,
		"--dist latest --get-pct 90":     `"insert_pct":10`,
		"--workload ycsb-f":              `"workload":"ycsb-f","rmw_pct":50`,
		"--workload ycsb-a --get-pct 70": `"get_pct":70,"dist":"zipf","theta":0.99`,
		"--workload ycsb-d,ycsb-c":       `"get_pct":100,"dist":"zipf","theta":0.99`,
		"--value-size 9,weibo":           `"key_size":16,"value_size":43`,
		"--key-size etc":                 `"key_size":37,"value_size":32`,
		"--key-size uniform:8-64":        `"key_dist":"uniform:8-64"`,
		"--fill":                         `"fill":true`,
		"--get-pct 0":                    `"gets":0,"hit_ratio":null`,
		"--get-pct 100 --warmup-ops 20":  `"gets":300,"hit_ratio":1`,
		"--key-size 20 --value-size 9":   `"key_size":20,"value_size":9`,
		"--clients 2 --window 3":         `"clients":2,"window":3,"batch":1,"trial":1,"ops":600`,
		"--batch 4,8":                    `"batch":8`,
		"--goroutines 3 --ops 20":        `"window":8,"batch":32,"trial":1,"ops":60`,
		"--cores 2 --poll busy":          `"cores":2,"poll":"busy"`,
		"--fetch-size 64 --retries 3":    `"fetch_size":64,"retries":3`,
		"--seed 9 --trials 2":            `"seed":9,`,
	} {
		all := append(smallBench("--fabric loop --json"), strings.Fields(args)...)
		if code, out, errOut := runCmd(t, all...); code != exitOK || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d, %q, want %q in\n%s", args, code, errOut, want, out)
		}
	}
}

// Clients that are processes are this program again.
func TestBenchOfProcesses(t *testing.T) {
	code, out, errOut := runCmd(t, smallBench("--json --processes 2 --clients 2")...)
	if want := `"clients":2,"window":1,"batch":1,"trial":1,"ops":1200`; code != exitOK || !strings.Contains(out, want) || !strings.Contains(out, `"processes":2`) {
		t.Errorf("exit code %d, %q, want %q in\n%s", code, errOut, want, out)
	}
}

// An agent is this program, and so are the processes that it starts for another one.
func TestBenchOfAgents(t *testing.T) {
	t.Setenv(tokenVar, "the token of this test")
	s, err := server.Start(server.Config{Listen: []string{"tcp://127.0.0.1:0"}, Memory: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	ctx, cancel := context.WithCancel(t.Context())
	said, says := io.Pipe()
	ended := make(chan int)
	go func() {
		ended <- run(ctx, []string{"bench", "agent", "--listen", "127.0.0.1:0"}, strings.NewReader(""), io.Discard, says)
	}()
	lines := bufio.NewScanner(said)
	if !lines.Scan() {
		t.Fatal(lines.Err())
	}
	address := strings.TrimPrefix(lines.Text(), "agent: listening on ")
	go func() {
		for lines.Scan() {
		}
	}()
	args := []string{"bench", "cache", "--json", "--keys", "200", "--ops", "300", "--agents", address, "--server", s.Addrs()[0].String()}
	if code, out, errOut := runCmd(t, args...); code != exitOK || !strings.Contains(out, `"ops":300`) || !strings.Contains(out, `"processes":1`) {
		t.Errorf("exit code %d, %q\n%s", code, errOut, out)
	}
	t.Setenv(tokenVar, "")
	if code, _, errOut := runCmd(t, args...); code == exitOK || !strings.Contains(errOut, "token") {
		t.Errorf("without the token: exit code %d, %q", code, errOut)
	}
	for args, want := range map[string]string{"--listen 0.0.0.0:0": tokenVar, "--listen 127.0.0.1:0 --token short": "characters at least"} {
		code, _, errOut := runCmd(t, append([]string{"bench", "agent"}, strings.Fields(args)...)...)
		if code != exitUsage || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit code %d, %q", args, code, errOut)
		}
	}
	cancel()
	if code := <-ended; code != exitOK {
		t.Errorf("the agent ended with %d", code)
	}
}

// Beside others; those must be installed in CI.
func TestBenchOfOthers(t *testing.T) {
	code, out, errOut := runCmd(t, smallBench("--path rfp,memcached,redis --fabric loop --window 4")...)
	if strings.Contains(errOut, "not installed") && os.Getenv("CI") == "" {
		t.Skip(errOut)
	}
	if code != exitOK {
		t.Fatalf("exit code %d, standard error %q", code, errOut)
	}
	for _, words := range []string{"memcached ", "redis ", "pipeline", "session", "over tcp"} {
		if !strings.Contains(out, words) {
			t.Errorf("the table does not contain %q:\n%s", words, out)
		}
	}
}

func TestMistakesInBenchGetExitCode2AndAdvice(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"bench now", `unknown command "now"`},
		{"bench cache --path fax", "use rfp, reply, herd, sendrecv, onesided, onesided-faa, pilaf, farm, farm-var, text, memcached, redis"},
		{"bench cache --fabric ether", "loop, shm, tcp"},
		{"bench cache --engine btree", "mica"},
		{"bench cache --keys 0", "at least 1"},
		{"bench cache --placement two", "use own, one, busy-client"},
		{"bench cache --placement one --server tcp://x:1", "leave out --server"},
		{"bench cache --keys many", "--keys"},
		{"bench cache --poll lazy", "adaptive or busy"},
		{"bench cache --duration 0s", "too short"},
		{"bench cache --seed 0", "must not be 0"},
		{"bench cache --memory lots", "not a size"},
		{"bench cache --dist zipf --theta 0", "--dist uniform"},
		{"bench cache --dist scan-mixed --scan-pct 0", "--dist zipf"},
		{"bench cache --trace /nowhere/a.csv", "/nowhere/a.csv"},
		{"bench cache --dist hotspot --hot-ops 0", "--dist uniform"},
		{"bench cache --hot-keys 101", "--hot-keys"},
		{"bench cache --workload ycsb-e", "scans ranges of keys"},
		{"bench cache --workload tpc-c", "use ycsb-a, ycsb-b, ycsb-c, ycsb-d, ycsb-f"},
		{"bench cache --rmw-pct 50", "more than 100"},
		{"bench cache --value-size huge", "weibo"},
		{"bench cache --value-size uniform:9-3", "is not a distribution of sizes"},
		{"bench cache --key-size weibo", "is not a distribution of sizes"},
		{"bench cache --key-size 0", "at least 1"},
		{"bench cache --dist latest --key-size 5", "new keys"},
		{"bench cache --dist scan-mixed --scan-pct 101", "at most 100"},
		{"bench cache --warmup-ops -1", "--warmup-ops"},
		{"bench cache --cache half", "write 10% for a tenth"},
		{"bench cache --cache 101%", "at most 100"},
		{"bench cache --cache 10% --memory 1GiB", "exclude each other"},
		{"bench cache --cache 10% --path memcached", "use --path rfp"},
		{"bench cache --no-load", "--server"},
		{"bench cache --server tcp://x:1 --cores 2", "not for the one of --server"},
		{"bench cache --server tcp://x:1 --prefetch off", "not for the one of --server"},
		{"bench compare --server tcp://x:1", "unknown flag: --server"},
		{"bench compare --agents node2:7790", "unknown flag: --agents"},
		{"bench cache --prefetch never", "on, off"},
		{"bench cache --path memcached --protocol binary", "text, meta"},
		{"bench cache --processes 2 --fabric loop", "use another --fabric"},
		{"bench cache --processes -1", "--processes"},
		{"bench cache --agents node2:7790", "--server"},
		{"bench cache --agents node2 --server tcp://x:1", "host:port"},
		{"bench agent now", "takes no arguments"},
		{"bench agent --listen here", "host:port"},
		{"bench cache --link-cache 1 --recency never", "batched, faa, sampled, none"},
		{"bench cache --link-cache -2", "--link-cache"},
		{"bench cache --recency none", "--recency has no effect without --link-cache"},
		{"bench cache --protocol meta", "--protocol has no effect without --path memcached"},
		{"bench cache --network unix", "--network has no effect"},
		{"bench cache --theta 0.5", "--theta has no effect without --dist or --workload"},
		{"bench cache --token x", "--token has no effect without --agents"},
		{"bench cache --ops 1 --duration 1s", "exclude each other"},
	} {
		code, out, errOut := runCmd(t, strings.Fields(tc.args)...)
		if code != exitUsage || out != "" || !strings.Contains(errOut, tc.want) || !strings.Contains(errOut, "--help'") {
			t.Errorf("%s: exit code %d, standard output %q, standard error %q, want %q", tc.args, code, out, errOut, tc.want)
		}
	}
}

// Client and server share CPUs as they are asked to, in a comparison too.
func TestBenchOfPlacements(t *testing.T) {
	args := []string{"--placement", "own,one,roaming"}
	code, out, errOut := runCmd(t, append(smallBench("--path rfp,text"), args...)...)
	if code != exitOK || strings.Count(out, " busy process") != 1 || !strings.Contains(out, "placement  ") {
		t.Errorf("exit code %d, %s%s", code, errOut, out)
	}
	code, out, errOut = runCmd(t, append(strings.Fields("bench compare --keys 200 --ops 100 --memory 64MiB --trials 2 --path rfp,text --fabric shm"), args...)...)
	if code != exitOK || !strings.Contains(out, "one operation at a time, placement one (") || strings.Count(out, "of the best") != 6 {
		t.Errorf("exit code %d, %s%s", code, errOut, out)
	}
}

// A share of the keys is turned into a memory that holds it.
func TestBenchOfASmallCache(t *testing.T) {
	code, out, errOut := runCmd(t, strings.Fields("bench cache --json --fabric loop --keys 8000 --ops 2000 --cache 50%,25 --fill --get-pct 100")...)
	if code != exitOK {
		t.Fatalf("exit code %d, standard error %q", code, errOut)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for i, want := range []float64{50, 25} {
		var row struct {
			Cache  float64 `json:"cache_pct"`
			Items  float64 `json:"items"`
			Misses int     `json:"misses"`
			Memory int     `json:"memory"`
		}
		if err := json.Unmarshal([]byte(lines[i]), &row); err != nil || row.Cache != want || row.Misses == 0 || row.Memory == 0 {
			t.Errorf("%v: %s", err, lines[i])
		}
		if share := row.Items / 8000 * 100; share < 0.9*want || share > 1.1*want {
			t.Errorf("of %g %% of the keys, %g %% stay", want, share)
		}
	}
	if code, _, errOut := runCmd(t, strings.Fields("bench cache --fabric loop --keys 100 --cache 1%")...); code != exitUsage || !strings.Contains(errOut, "use more keys") {
		t.Errorf("a cache smaller than can be: exit code %d, %q", code, errOut)
	}
}

// A trace is replayed to its end, all of it.
func TestBenchOfATrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(path, []byte("op,key,size,ttl\nset,a,100\nget,a\nget,b,7\ndel,a\nget,a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := runCmd(t, "bench", "cache", "--json", "--fabric", "loop", "--memory", "64MiB", "--trace", path)
	if code != exitOK || !strings.Contains(out, `"ops":5,`) || !strings.Contains(out, `"misses":2,`) || !strings.Contains(out, `"trace":"`+path) {
		t.Errorf("exit code %d, %q, %s", code, errOut, out)
	}
}

func TestBenchOfAServerThatRuns(t *testing.T) {
	url := "shm:" + filepath.Join(t.TempDir(), "s")
	code, _, errOut := runCmd(t, "bench", "cache", "--server", url)
	if code != exitUnavailable || !strings.Contains(errOut, url) {
		t.Errorf("nobody there: exit code %d, %q", code, errOut)
	}
	s, err := server.Start(server.Config{Listen: []string{url}, Memory: 64 << 20, Version: "running"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, more := range []string{"", "--no-load"} {
		args := append([]string{"bench", "cache", "--server", url, "--keys", "200", "--ops", "300"}, strings.Fields(more)...)
		code, out, errOut := runCmd(t, args...)
		if code != exitOK || !strings.Contains(out, fmt.Sprintf("servers: remora running at %s", url)) || strings.Contains(out, "missed") {
			t.Errorf("exit code %d, %q, standard error %q", code, out, errOut)
		}
	}
}

func TestBenchCompletion(t *testing.T) {
	for flag, want := range map[string]string{
		"--path": "memcached", "--fabric": "shm", "--engine": "mica", "--dist": "zipf", "--protocol": "meta", "--network": "unix", "--poll": "busy", "--placement": "busy-client",
	} {
		if code, out, _ := runCmd(t, "__complete", "bench", "cache", flag, ""); code != exitOK || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d, %q is not offered in %q", flag, code, want, out)
		}
	}
	if _, out, _ := runCmd(t, "bench", "--help"); strings.Contains(out, "worker") || !strings.Contains(out, "\n  rpc ") {
		t.Errorf("help mentions the hidden worker, or not rpc:\n%s", out)
	}
}
