package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/target/cache"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/server"
)

// benchFlags are the flags of bench cache that need work before they are a Config.
type benchFlags struct {
	cfg    cache.Config
	poll   string
	memory size
	caches []string
	output benchOutput
	sizes  benchSizes
}

func newBenchCacheCmd(a *app) *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Measure gets and puts of the cache, memcached and Redis",
		Long: `Measure gets and puts of the cache: rate, latency, verbs and CPU, and the same of
memcached and Redis. bench starts the server on its own CPUs and loads all keys. Every
value that a client gets is checked.

Paths:
  rfp        the client fetches results by READ; a slow server pushes them
  reply      the server pushes results by WRITE
  herd       requests by WRITE over UC, results by datagrams; no batches
  sendrecv   requests and results by SEND over RC; no batches
  onesided   the client reads the engine slots by READ; onesided-faa counts each use
             with an atomic
  pilaf      the client reads the engine cuckoo by READ
  farm       the client reads the engine hopscotch by READ; farm-var, hopscotch-var
  text       GET and SET as lines over plain TCP
  memcached  memcached itself, over loopback TCP or a unix socket
  redis      redis-server itself, likewise
  null       no server: measures bench itself

A client is a thread with window x batch operations in flight; with --goroutines it is a
remora.Client (for memcached and Redis: gomemcache and go-redis) that N goroutines share.
A LIST makes a row for every combination. Trials of rows with the same load are
interleaved.

With --server bench starts nothing: it stores the keys in a running server and leaves
them there.`,
		Example: `  remora bench cache                                            one operation at a time, shared memory
  remora bench cache --path rfp,memcached,redis --trials 3      against others
  remora bench cache --window 4 --batch 1,4,16                  the gain of batches
  remora bench cache --dist zipf --get-pct 50,95                popular keys, more puts
  remora bench cache --workload ycsb-a,ycsb-b                   mixes of YCSB
  remora bench cache --goroutines 1,1000 --path rfp,memcached   goroutines that share a client
  remora bench cache --cache 1%,10% --fill --dist zipf          a cache too small for the keys
  remora bench cache --server tcp://node1:7700 --agents node2:7790,node3:7790
  remora bench cache --trials 5 --report out                    a page with charts`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), cmd, a) },
	}
	f.register(cmd)
	f.output.register(cmd)
	f.output.registerSummary(cmd)
	complete(cmd)
	return cmd
}

func (f *benchFlags) register(cmd *cobra.Command) {
	f.registerStarted(cmd)
	f.registerRunning(cmd.Flags())
}

// registerStarted defines the flags of benchmarks that start their servers.
func (f *benchFlags) registerStarted(cmd *cobra.Command) {
	fl, c := cmd.Flags(), &f.cfg
	fl.StringSliceVar(&c.Paths, "path", []string{cache.PathRFP}, "paths to measure, a `LIST`")
	fl.StringSliceVar(&c.Fabrics, "fabric", []string{cache.DefaultFabric}, "fabrics of Remora's paths, a `LIST` of "+strings.Join(provider.Names(), ", "))
	fl.IntSliceVar(&c.Clients, "clients", []int{1}, "threads with their own connections, a `LIST`")
	fl.IntSliceVar(&c.Windows, "window", nil, "frames in flight on each connection, a `LIST` (default 1; with --goroutines 8)")
	fl.IntSliceVar(&c.Batches, "batch", nil, "operations in a frame, a `LIST` (default 1; with --goroutines up to 32)")
	fl.Float64SliceVar(&c.GetPcts, "get-pct", nil, "`PERCENTAGE` of gets, a list; the rest are puts (default 95)")
	fl.IntVar(&c.Keys, "keys", cache.DefaultKeys, "`NUMBER` of keys")
	f.sizes.register(fl)
	f.registerLoad(fl)
	f.registerServer(fl)
	completeFrom(cmd, "path", cache.Paths()...)
	completeFrom(cmd, "fabric", provider.Names()...)
	completeFrom(cmd, "engine", server.Engines()...)
	completeFrom(cmd, "prefetch", cache.Prefetches()...)
	completeFrom(cmd, "placement", host.Sharings()...)
	completeFrom(cmd, "protocol", cache.Protocols()...)
	completeFrom(cmd, "dist", cache.Dists()...)
	completeFrom(cmd, "workload", cache.Workloads()...)
	completeFrom(cmd, "recency", cache.Recencies()...)
}

// registerRunning defines the flags of a server that bench does not start.
func (f *benchFlags) registerRunning(fl *pflag.FlagSet) {
	c := &f.cfg
	fl.StringVar(&c.Server, "server", "", "`URL` of a running server to measure")
	fl.BoolVar(&c.NoLoad, "no-load", false, "do not store the keys: the server has them")
	section(fl, "Server", "no-load")
	fl.StringSliceVar(&c.Agents, "agents", nil, "`ADDRESSES` of agents that run the client processes on other machines (see bench agent)")
	fl.StringVar(&c.Token, "token", "", "`TEXT` that the agents expect (default: REMORA_BENCH_TOKEN)")
	section(fl, "Clients", "agents", "token")
}

// registerLoad defines the flags of the operations and of the clients.
func (f *benchFlags) registerLoad(fl *pflag.FlagSet) {
	c := &f.cfg
	fl.StringSliceVar(&c.Workloads, "workload", nil, "mix of operations by name, a `LIST` of "+strings.Join(cache.Workloads(), ", ")+"; other flags override it")
	fl.Float64SliceVar(&c.RMWPcts, "rmw-pct", nil, "`PERCENTAGE` of read-modify-writes, a list: a get, then a put of the same key, as one operation (default 0)")
	fl.StringSliceVar(&c.Dists, "dist", nil, "popularity of keys, a `LIST` of "+strings.Join(cache.Dists(), ", ")+" (default uniform)")
	fl.Float64SliceVar(&c.Thetas, "theta", []float64{cache.DefaultTheta}, "skew of zipf, scan-mixed and latest, a `LIST`")
	fl.Float64Var(&c.HotOps, "hot-ops", cache.DefaultHotOps, "`PERCENTAGE` of the operations of hotspot on hot keys")
	fl.Float64Var(&c.HotKeys, "hot-keys", cache.DefaultHotKeys, "`PERCENTAGE` of the keys of hotspot that are hot")
	fl.Float64Var(&c.ScanPct, "scan-pct", cache.DefaultScanPct, "`PERCENTAGE` of the operations of scan-mixed that belong to scans over all keys")
	fl.StringVar(&c.Trace, "trace", "", "`FILE` of operations to replay: lines of op,key,size,ttl with get, set or del; also .gz")
	fl.BoolVar(&c.Fill, "fill", false, "put the key after every get that misses, as applications do")
	seedFlag(fl, &c.Seed, cache.DefaultSeed)
	section(fl, "Load", "workload", "rmw-pct", "dist", "theta", "hot-ops", "hot-keys", "scan-pct", "trace", "fill", "key-size", "seed")
	fl.IntSliceVar(&c.Goroutines, "goroutines", nil, "run N goroutines per client, a `LIST` (default: none)")
	fl.IntSliceVar(&c.Processes, "processes", nil, "client processes with --clients each, a `LIST`; 0 is bench itself (default 0)")
	fl.Float64SliceVar(&c.Rates, "rate", nil, "operations per second of all clients, started whether or not earlier ones have ended, a `LIST`; 0 waits for them (default 0)")
	fl.IntSliceVar(&c.Links, "link-cache", nil, "items that each client reads directly from server memory, a `LIST` (default 0; -1: clients decide)")
	fl.StringSliceVar(&c.Recencies, "recency", []string{string(remora.RecencyBatched)}, "how clients report direct reads to the server, a `LIST` of "+strings.Join(cache.Recencies(), ", "))
	fl.IntVar(&c.Retries, "retries", 0, "R: `NUMBER` of failed READs that make an answer slow (default 5)")
	fl.IntVar(&c.FetchSize, "fetch-size", 0, "F: `BYTES` of the first READ (default: the whole answer; with --goroutines 256)")
	section(fl, "Clients", "goroutines", "processes", "rate", "link-cache", "recency", "retries", "fetch-size")
}

// registerServer defines the flags of the server and of the trials.
func (f *benchFlags) registerServer(fl *pflag.FlagSet) {
	c := &f.cfg
	fl.StringSliceVar(&c.Engines, "engine", []string{server.DefaultEngine}, "engines of Remora's server, a `LIST` of "+strings.Join(server.Engines(), ", "))
	fl.IntVar(&c.Cores, "cores", 1, "`NUMBER` of cores of the server, or threads of memcached and Redis")
	placementFlag(fl, &c.Placements)
	fl.Var(&f.memory, "memory", "memory of the server (default: twice what the keys take, at least 1GiB)")
	fl.StringSliceVar(&f.caches, "cache", nil, "`SHARE` of the keys that fit into the server, such as 10%, a list; bench finds the memory for it")
	fl.StringSliceVar(&c.Prefetches, "prefetch", []string{cache.PrefetchOn}, "whether the server prefetches items, a `LIST` of "+strings.Join(cache.Prefetches(), ", "))
	pollFlag(fl, &f.poll)
	choose(fl, &c.Network, "network", "tcp", "network to memcached and Redis", cache.Networks()...)
	fl.StringSliceVar(&c.Protocols, "protocol", []string{cache.ProtocolText}, "protocols of memcached, a `LIST` of "+strings.Join(cache.Protocols(), ", "))
	section(fl, "Server", "engine", "cores", "placement", "memory", "cache", "prefetch", "poll", "network", "protocol")
	c.Duration, c.Warmup, c.Trials = cache.DefaultDuration, cache.DefaultWarmup, 1
	f.trials().register(fl, "client or goroutine")
	fl.IntVar(&c.WarmupOps, "warmup-ops", 0, "warm up with `N` operations of each client or goroutine, instead of by time")
	fl.BoolVar(&c.NoGenerator, "no-generator", false, "do not measure first how fast bench is without a server")
	section(fl, "Trials", "warmup-ops", "no-generator")
}

func (f *benchFlags) trials() trialFlags {
	c := &f.cfg
	return trialFlags{&c.Duration, &c.Warmup, &c.Ops, &c.Trials}
}

// check refuses flags that have no effect together.
func (f *benchFlags) check(cmd *cobra.Command) error {
	return errors.Join(
		f.trials().check(cmd), exclusive(cmd, "warmup-ops", "warmup"), exclusive(cmd, "memory", "cache"),
		exclusive(cmd, "trace", "workload"), exclusive(cmd, "trace", "dist"), exclusive(cmd, "trace", "get-pct"), exclusive(cmd, "trace", "rmw-pct"),
		needs(cmd, "token", "agents"), needs(cmd, "recency", "link-cache"),
		needs(cmd, "theta", "dist", "workload"), needs(cmd, "hot-ops", "dist"), needs(cmd, "hot-keys", "dist"), needs(cmd, "scan-pct", "dist"),
	)
}

// config translates the flags. A zero means the default in the library, but is a mistake
// of a user.
func (f *benchFlags) config(cmd *cobra.Command) (cache.Config, error) {
	cfg := f.cfg
	if err := f.check(cmd); err != nil {
		return cfg, err
	}
	for name, v := range map[string]int{"keys": cfg.Keys, "cores": cfg.Cores} {
		if v < 1 {
			return cfg, misuse("--%s %d must be at least 1", name, v)
		}
	}
	if cfg.ScanPct == 0 {
		return cfg, misuse("--scan-pct 0 makes no scans: use --dist zipf")
	}
	if cfg.HotOps == 0 {
		return cfg, misuse("--hot-ops 0 makes no hot keys: use --dist uniform")
	}
	if cfg.Seed == 0 {
		return cfg, misuse("--seed must not be 0")
	}
	if cfg.Server != "" {
		for _, name := range []string{"fabric", "engine", "prefetch", "cores", "memory", "cache"} {
			if cmd.Flags().Changed(name) {
				return cfg, misuse("--%s is for a server that bench starts, not for the one of --server", name)
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
	cfg.Poll, err = fabric.ParsePolicy(f.poll)
	return cfg, err
}

// needsPath refuses a flag that no path of the run uses.
func needsPath(cmd *cobra.Command, flag, path string) error {
	if cmd.Flags().Changed(flag) {
		return misuse("--%s has no effect without --path %s", flag, path)
	}
	return nil
}

// playOnce makes a trial one replay of the whole trace, unless flags ask for another end.
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
			return nil, misuse("--cache %q is not a share of the keys: write 10%% for a tenth of them", text)
		}
		out = append(out, pct)
	}
	return out, nil
}

func (f *benchFlags) run(ctx context.Context, cmd *cobra.Command, a *app) error {
	cfg, err := f.config(cmd)
	if err == nil && !slices.Contains(cfg.Paths, cache.PathMemcached) {
		err = needsPath(cmd, "protocol", cache.PathMemcached)
		if !slices.Contains(cfg.Paths, cache.PathRedis) {
			err = errors.Join(err, needsPath(cmd, "network", cache.PathMemcached+" or "+cache.PathRedis))
		}
	}
	if err != nil {
		return err
	}
	env, sink, err := openBench[cache.Row](a, &f.output, "", workerCache)
	if err != nil {
		return err
	}
	env.Row = func(r cache.Row) error { return sink.row(r) }
	report, err := cache.Run(ctx, cfg, env)
	return f.finish(ctx, sink, err, report, report.WriteTable)
}
