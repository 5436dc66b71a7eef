package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/bench/cache"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/server"
)

// benchFlags are the flags of bench that need work before they are a Config.
type benchFlags struct {
	cfg    cache.Config
	poll   string
	memory size
	caches []string
	output benchOutput
	sizes  benchSizes
	preset presetFlags
}

func newBenchCmd(a *app) *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the cache: gets and puts, beside memcached and Redis",
		Long: `Measure the cache: gets and puts in a second, latency, verbs and CPU; and those of
memcached and Redis beside it.

The server is a process on CPUs of its own, started and stopped by bench, and
loaded with all keys. Paths:

  rfp        results are fetched by READ, and pushed while the server is slow
  reply      results are always pushed, by WRITE
  herd       requests by WRITE over UC, results by datagrams; no batches
  sendrecv   requests and results by SEND over RC; no batches
  onesided   gets by READs of the client, in the engine slots; onesided-faa counts each
             use by an atomic
  pilaf      gets by READs of the client, in the engine cuckoo
  farm       likewise in hopscotch, and farm-var in hopscotch-var
  memcached  memcached itself, over loopback TCP or a unix socket (--network), by its text
             or its meta protocol (--protocol)
  redis      redis-server itself, likewise
  null       nothing: answers come at once, and what is measured is bench itself

A client is a thread that keeps window x batch operations on their way; with
--goroutines it is a remora.Client that so many goroutines share (of memcached and
Redis the clients that Go programs use: gomemcache and go-redis). Every value that
is got is checked. With --processes the clients are of so many processes instead of one;
with --agents these are on other machines.

A list for --path, --fabric, --engine, --protocol, --prefetch, --links, --workload,
--get-pct, --rmw-pct, --dist, --theta, --value-size, --processes, --clients, --goroutines, --window or
--batch makes a row for every combination.
Trials of rows that bear the same load are interleaved.

With --server nothing is started: the keys are stored in a server that runs, among
what it has, and stay there.`,
		Example: `  remora bench                                            one operation at a time over shared memory
  remora bench --path rfp,memcached,redis --trials 3      beside others
  remora bench --path text,memcached --batch 1,16         the same protocol family over plain TCP
  remora bench --window 4 --batch 1,4,16                  what batches bring
  remora bench --dist zipf --theta 0.99 --get-pct 50,95   popular keys, and more puts
  remora bench --workload ycsb-a,ycsb-b,ycsb-d            mixes of YCSB
  remora bench --value-size weibo,etc --key-size etc      sizes as services have them
  remora bench --trace requests.csv.gz --fill --memory 1GiB
  remora bench --processes 1,2,4 --window 4               clients that are processes
  remora bench --goroutines 1,1000 --path rfp,memcached   goroutines that share a client
  remora bench --value-size 1024,1048576 --keys 256       large values
  remora bench --engine mica,lru8,shared-lru --keys 10000000 --memory 4GiB
  remora bench --path herd --window 16 --prefetch on,off --keys 10000000
  remora bench --path herd,sendrecv,rfp --window 4         what is written, against what is sent
  remora bench --links 0,65536 --dist zipf                 hot items read without the server
  remora bench --cache 1%,10% --fill --dist zipf           a cache that is too small for the keys
  remora bench --server tcp://node2:7700 --clients 4      a server that runs
  remora bench --server tcp://node1:7700 --agents node2:7790,node3:7790   clients on two machines
  remora bench --trials 5 --csv rows.csv                   all that was measured, for a spreadsheet
  remora bench --trials 5 --report out                    a page with charts, and figures as files
  remora bench --json --trials 5 --summary                 with mean, deviation and confidence behind the rows
  remora bench --preset rfp-fig4                          a figure of a paper (remora bench presets)
  remora bench rpc                                        calls without a cache`,
		Args:                       unknownCommand,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), cmd, a) },
		SuggestionsMinimumDistance: 2,
	}
	f.register(cmd)
	f.output.register(cmd)
	f.preset.register(cmd)
	cmd.AddCommand(newBenchCompareCmd(a), newBenchSweepCmd(a), newBenchPresetsCmd(a), newBenchRPCCmd(a), newBenchKVLCmd(a), newBenchAgentCmd(a), newBenchServerCmd(a), newBenchCacheServerCmd(a), newBenchCacheClientCmd(a), newBenchKVLServerCmd(a))
	return cmd
}

func (f *benchFlags) register(cmd *cobra.Command) {
	fl, c := cmd.Flags(), &f.cfg
	fl.StringSliceVar(&c.Paths, "path", []string{cache.PathRFP}, "what is measured, a `LIST`: "+strings.Join(cache.Paths(), ", "))
	fl.StringSliceVar(&c.Fabrics, "fabric", []string{cache.DefaultFabric}, "fabrics of rfp and reply, a `LIST`: "+strings.Join(provider.Names(), ", "))
	fl.StringSliceVar(&c.Engines, "engine", []string{server.DefaultEngine}, "engines of rfp and reply, a `LIST`: "+strings.Join(server.Engines(), ", "))
	fl.StringSliceVar(&c.Prefetches, "prefetch", []string{cache.PrefetchOn}, "whether items are loaded ahead, a `LIST`: "+strings.Join(cache.Prefetches(), ", "))
	fl.StringVar(&c.Network, "network", "tcp", "`NAME` of the network to memcached and Redis: "+strings.Join(cache.Networks(), ", "))
	fl.StringSliceVar(&c.Protocols, "protocol", []string{cache.ProtocolText}, "how memcached is asked, a `LIST`: "+strings.Join(cache.Protocols(), ", "))
	fl.StringVar(&c.Trace, "trace", "", "`FILE` of operations to replay instead: lines of op,key,size,ttl with get, set or del; also .gz")
	fl.StringSliceVar(&c.Workloads, "workload", nil, "mix of operations by name, a `LIST`: "+strings.Join(cache.Workloads(), ", ")+"; flags given beside it count more")
	fl.Float64SliceVar(&c.GetPcts, "get-pct", nil, "`PERCENTAGE` of gets, a list; the rest are puts (default 95)")
	fl.Float64SliceVar(&c.RMWPcts, "rmw-pct", nil, "`PERCENTAGE` of read-modify-writes, a list: a get, then a put of its key, as one operation (default 0)")
	fl.StringSliceVar(&c.Dists, "dist", nil, "popularity of keys, a `LIST`: "+strings.Join(cache.Dists(), ", ")+" (default uniform)")
	fl.Float64SliceVar(&c.Thetas, "theta", []float64{cache.DefaultTheta}, "skew of zipf, scan-mixed and latest, a `LIST`")
	fl.Float64Var(&c.HotOps, "hot-ops", cache.DefaultHotOps, "`PERCENTAGE` of the operations of hotspot that go to hot keys")
	fl.Float64Var(&c.HotKeys, "hot-keys", cache.DefaultHotKeys, "`PERCENTAGE` of the keys of hotspot that are hot")
	fl.Float64Var(&c.ScanPct, "scan-pct", cache.DefaultScanPct, "`PERCENTAGE` of the operations of scan-mixed that belong to scans over all keys")
	fl.BoolVar(&c.Fill, "fill", false, "follow every get that misses by a put of its key, as applications do")
	fl.IntVar(&c.Keys, "keys", cache.DefaultKeys, "`NUMBER` of keys")
	f.sizes.register(fl)
	fl.IntSliceVar(&c.Processes, "processes", nil, "processes that have so many --clients each, a `LIST`; 0 is bench itself (default 0)")
	fl.StringSliceVar(&c.Agents, "agents", nil, "`ADDRESSES` of agents on other machines that have the client processes, with --server (see bench agent)")
	fl.StringVar(&c.Token, "token", "", "`TEXT` that the agents want to know (default: that of REMORA_BENCH_TOKEN)")
	fl.IntSliceVar(&c.Clients, "clients", []int{1}, "threads with connections of their own, a `LIST`")
	fl.IntSliceVar(&c.Goroutines, "goroutines", nil, "so many goroutines share each client instead, a `LIST` (default: none)")
	fl.IntSliceVar(&c.Windows, "window", nil, "frames on their way on each connection, a `LIST` (default 1; with --goroutines 8)")
	fl.IntSliceVar(&c.Batches, "batch", nil, "operations in a frame, a `LIST` (default 1; with --goroutines at most 32)")
	fl.IntVar(&c.Cores, "cores", 1, "cores of the server, or threads of memcached and Redis")
	fl.StringVar(&f.poll, "poll", fabric.Adaptive.String(), "how threads wait when nothing comes: busy or adaptive")
	fl.IntVar(&c.Retries, "retries", 0, "R: failed READs that make an answer slow (default: that of rfp, 5)")
	fl.IntVar(&c.FetchSize, "fetch-size", 0, "F: `BYTES` of the first READ (default: what brings the whole answer)")
	fl.IntSliceVar(&c.Links, "links", nil, "so many keys whose items are read where they are, without the server, a `LIST` (default 0; -1: as clients find worth while)")
	fl.StringSliceVar(&c.Recencies, "recency", []string{string(remora.RecencyBatched)}, "how the server learns of what is read by links, a `LIST`: "+strings.Join(cache.Recencies(), ", "))
	fl.Var(&f.memory, "memory", "`SIZE` of what the server keeps (default: twice what the keys take, at least 1GiB)")
	fl.StringSliceVar(&f.caches, "cache", nil, "the `SHARE` of the keys that the server has memory for, as 10%, a list; how much that is bench finds out")
	fl.Float64SliceVar(&c.Rates, "rate", nil, "operations a second that begin whether or not others have ended, a `LIST`; 0 waits for them (default 0)")
	fl.DurationVar(&c.Duration, "duration", cache.DefaultDuration, "length of a trial")
	fl.IntVar(&c.Ops, "ops", 0, "end a trial after so many operations of each client or goroutine, instead of by time")
	fl.DurationVar(&c.Warmup, "warmup", cache.DefaultWarmup, "time before each trial that does not count")
	fl.IntVar(&c.WarmupOps, "warmup-ops", 0, "warm up by so many operations of each client or goroutine, instead of by time")
	fl.IntVar(&c.Trials, "trials", 1, "how often to measure each row; the table shows the median")
	fl.Uint64Var(&c.Seed, "seed", cache.DefaultSeed, "makes the operations: the same `NUMBER` makes the same ones")
	fl.StringVar(&c.Server, "server", "", "`URL` of a server that runs, to be measured instead of one of its own")
	fl.BoolVar(&c.NoGenerator, "no-generator", false, "do not measure first what bench does without a server")
	fl.BoolVar(&c.NoLoad, "no-load", false, "do not store the keys: the server has them")
	f.complete(cmd)
}

// complete offers the values of flags that have a few, and no file names for the
// others.
func (f *benchFlags) complete(cmd *cobra.Command) {
	completeFrom(cmd, "path", cache.Paths()...)
	completeFrom(cmd, "fabric", provider.Names()...)
	completeFrom(cmd, "engine", server.Engines()...)
	completeFrom(cmd, "prefetch", cache.Prefetches()...)
	completeFrom(cmd, "network", cache.Networks()...)
	completeFrom(cmd, "protocol", cache.Protocols()...)
	completeFrom(cmd, "dist", cache.Dists()...)
	completeFrom(cmd, "workload", cache.Workloads()...)
	completeFrom(cmd, "poll", "adaptive", "busy")
	completeFrom(cmd, "recency", cache.Recencies()...)
	for _, name := range []string{
		"get-pct", "rmw-pct", "theta", "scan-pct", "hot-ops", "hot-keys", "keys", "key-size", "value-size", "processes", "agents", "token", "clients", "goroutines", "window", "batch", "rate", "cores",
		"retries", "fetch-size", "links", "memory", "cache", "duration", "ops", "warmup", "warmup-ops", "trials", "seed", "server",
	} {
		completeFrom(cmd, name)
	}
}

// config turns flags into what is to be measured. A zero in the library means the
// default; from a user it is a mistake.
func (f *benchFlags) config(cmd *cobra.Command) (cache.Config, error) {
	cfg := f.cfg
	for name, v := range map[string]int{"keys": cfg.Keys, "cores": cfg.Cores, "trials": cfg.Trials} {
		if v < 1 {
			return cfg, misuse("--%s %d must be at least 1", name, v)
		}
	}
	if cmd.Flags().Changed("duration") && cfg.Duration < time.Microsecond {
		return cfg, misuse("--duration %v is too short to measure anything", cfg.Duration)
	}
	if cfg.ScanPct == 0 {
		return cfg, misuse("--scan-pct 0 is --dist zipf")
	}
	if cfg.HotOps == 0 {
		return cfg, misuse("--hot-ops 0 leaves the hot keys cold: use --dist uniform")
	}
	if cfg.Seed == 0 {
		return cfg, misuse("--seed 0 makes nothing: use another number")
	}
	if cfg.Server != "" {
		for _, name := range []string{"fabric", "engine", "prefetch", "cores", "memory", "cache"} {
			if cmd.Flags().Changed(name) {
				return cfg, misuse("--%s is for a server that bench starts; that of --server has its own", name)
			}
		}
	}
	if cfg.Trace != "" {
		playOnce(cmd, &cfg)
	}
	cfg.Memory, cfg.Token = int64(f.memory), agentToken(cfg.Token)
	err := f.sizes.into(&cfg)
	if err != nil {
		return cfg, err
	}
	if cfg.Caches, err = shares(f.caches); err != nil {
		return cfg, err
	}
	if cfg.Poll, err = fabric.ParsePolicy(f.poll); err != nil {
		return cfg, misuse("--poll %q is unknown: use adaptive or busy", f.poll)
	}
	return cfg, nil
}

// playOnce has a trace replayed once, and all of it count, unless flags ask for another end.
func playOnce(cmd *cobra.Command, cfg *cache.Config) {
	if !cmd.Flags().Changed("duration") {
		cfg.Duration = 0
	}
	if !cmd.Flags().Changed("warmup") {
		cfg.Warmup = 0
	}
}

// shares reads percentages, which may be written with their sign.
func shares(texts []string) (out []float64, err error) {
	for _, text := range texts {
		pct, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(text), "%"), 64)
		if err != nil {
			return nil, misuse("--cache %q is no share of the keys: write 10%% for a tenth of them", text)
		}
		out = append(out, pct)
	}
	return out, nil
}

func (f *benchFlags) run(ctx context.Context, cmd *cobra.Command, a *app) error {
	if f.preset.name != "" {
		return f.runPreset(ctx, cmd, a)
	}
	cfg, err := f.config(cmd)
	if err != nil {
		return err
	}
	env, sink, bar, err := f.prepare(a)
	if err != nil {
		return err
	}
	env.Row = func(r cache.Row) error { return sink.row(r) }
	report, err := cache.Run(ctx, cfg, env)
	bar.clear()
	if report == nil {
		report = &cache.Report{}
	}
	return sink.finish(ctx, err, report, report.WriteTable)
}
