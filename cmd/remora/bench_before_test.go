package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// measuredBefore has everything that could be measured when the cache, calls, verbs and links had
// a benchmark each: the command of then, that of now, and how many rows it has. Figures of papers
// are in TestEveryFigureRuns; servers, agents and processes of the user, traces and small caches
// have tests of their own in bench_cache_test.go and bench_rpc_test.go.
var measuredBefore = []struct {
	before, now string
	rows        int
}{
	{"bench --path ...", "cache --path rfp,reply,herd,sendrecv,onesided,onesided-faa,pilaf,farm,farm-var,text,memcached,redis,null", 13},
	{"bench --engine ...", "cache --engine mica,lru8,cuckoo,hopscotch,hopscotch-var,slots,shared-lru", 7},
	{"bench --dist ...", "cache --dist uniform,zipf,scan-mixed,hotspot,latest", 5},
	{"bench --workload ...", "cache --workload ycsb-a,ycsb-b,ycsb-c,ycsb-d,ycsb-f", 5},
	{"bench --fabric ...", "cache --fabric shm,tcp --cores 2", 3}, // and loop,
	{"bench --get-pct, --rmw-pct, --fill", "cache --get-pct 50,95 --rmw-pct 5 --fill", 2},
	{"bench --key-size, --value-size", "cache --key-size etc --value-size 32,weibo,uniform:8-64", 3},
	{"bench --clients, --window, --batch, --prefetch", "cache --clients 1,2 --window 1,4 --batch 1,4 --prefetch on,off", 16},
	{"bench --goroutines", "cache --path rfp,memcached,redis --goroutines 1,8", 6},
	{"bench --rate", "cache --rate 100000,0", 2},
	{"bench --links, --recency", "cache --link-cache -1,100 --recency batched,faa,sampled,none", 8},
	{"bench --retries, --fetch-size", "cache --retries 3 --fetch-size 64", 1},
	{"bench --network, --protocol", "cache --path memcached --network unix --protocol text,meta", 2},
	{"bench compare", "compare --path rfp,herd,memcached --fabric shm", 6},
	{"bench sweep", "sweep --over window=1,2,4 --over value-size=32,64", 6},
	{"bench rpc", "rpc --path rfp,fetch,reply --size 8,64 --process-time 0s,1us", 12},
	{"bench rpc --nap-after", "rpc --sleep-after 2us --process-time 5us", 1},
	{"bench rpc --limit", "rpc --window 8 --limit 20us --alpha 0.05", 1},
	{"bench rpc --connected, --threads", "rpc --clients 4 --threads 1 --connected 0,8", 2},
	{"perf", "verbs --fabric shm", 28},
	{"perf --transport uc", "verbs --transport uc", 21},
	{"perf --transport ud", "verbs --transport ud", 11},
	{"perf echo-ws --reply-transport", "verbs echo-ws --transport uc --reply-transport ud", 1},
	{"perf echo-ws --accesses", "verbs echo-ws --accesses 2,8 --prefetch on,off --table 64KiB --window 4", 4},
	{"perf --inline, --unsignaled, --threads", "verbs inbound --inline=false --unsignaled=false --threads 2", 3},
	{"bench kvl", "kvl --app item,match,page --path links,lookup,rfp,batch,memcached", 12},
	{"bench kvl --app search", "kvl --app search --memcached-users 50", 8},
}

func TestWhatWasMeasuredBefore(t *testing.T) {
	tiny := map[string]string{
		"cache":   "--fabric loop --keys 200 --ops 100 --memory 64MiB --no-generator",
		"compare": "--keys 200 --ops 100 --memory 64MiB --trials 1 --no-generator",
		"sweep":   "--fabric loop --keys 200 --ops 100 --memory 64MiB --no-generator",
		"rpc":     "--fabric loop --ops 100",
		"verbs":   "--fabric loop --ops 20 --warmup 0s",
		"kvl":     "--fabric loop --ops 20 --trials 1 --scale 0.001",
	}
	for _, m := range measuredBefore {
		command, rest, _ := strings.Cut(m.now, " ")
		args := strings.Fields("bench " + command + " --json " + tiny[command] + " " + rest)
		code, out, errOut := runCmd(t, args...)
		rows := bytes.Split(bytes.TrimSpace([]byte(out)), []byte("\n"))
		if code != exitOK || len(rows) != m.rows {
			t.Errorf("%s, now bench %s: exit code %d, %d rows, want %d\n%s", m.before, m.now, code, len(rows), m.rows, errOut)
			continue
		}
		for _, line := range rows {
			var row struct {
				Rate float64 `json:"ops_per_sec"`
			}
			if err := json.Unmarshal(line, &row); err != nil || !(row.Rate > 0) {
				t.Errorf("%s, now bench %s: %v in %s", m.before, m.now, err, line)
			}
		}
	}
}
