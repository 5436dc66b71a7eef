package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/settings"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/store"
)

// serveOptions are the flags of serve.
type serveOptions struct {
	config     string
	listen     []string
	cores      int
	cpus       []int
	memory     size
	engine     string
	mode       string
	eviction   string
	maxValue   size
	maxClients int
	poll       string
	prefetch   string
	links      string
	socketMode string
	logLevel   string
	logFormat  string
	drain      time.Duration
	kvl        kvlOptions
}

func newServeOptions() *serveOptions {
	return &serveOptions{memory: server.DefaultMemory, maxValue: store.DefaultMaxValue}
}

func newServeCmd(a *app) *cobra.Command {
	o := newServeOptions()
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the cache",
		Long: `Run the cache.

It listens on every --listen address until it is told to stop: SIGTERM and SIGINT
drain it (no new clients, unfinished requests are answered, then it ends), a second
one ends it at once. SIGHUP reads the configuration again and takes over log-level,
max-clients (up to the number it was started with) and drain; the log says which
other settings have changed and wait for a restart.

With --kvl it serves a database in place of a cache: rows as items, references as links
that clients follow by themselves (see remora load). SIGHUP loads it again, and so do
--kvl-reload, --kvl-notify and, with --kvl-command, remora reload; what was loaded before is served until that is done, and
stays if it fails.

Every flag can stand in the environment (--max-value is REMORA_MAX_VALUE) and in a
file given by --config, one "name = value" in a line. The command line comes before
the environment, and that before the file.`,
		Example: `  remora serve                                          for this user, over shared memory
  remora serve --listen tcp://:7700 --memory 8GiB       for other hosts
  remora serve --listen shm:/run/remora.sock --listen tcp://:7700 --cores 4
  remora serve --listen text://:7701                    GET, SET, DEL and QUIT as lines over plain TCP
  remora serve --mode store                             refuse instead of evicting
  remora serve --kvl shop.db --kvl-reload 10m           items with links, from a database
  remora serve --config /etc/remora.conf`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd, o) },
	}
	o.define(cmd.Flags())
	completeFrom(cmd, "engine", server.Engines()...)
	completeFrom(cmd, "mode", "cache", "store")
	completeFrom(cmd, "eviction", "second-chance", "fifo")
	completeFrom(cmd, "poll", "adaptive", "busy")
	completeFrom(cmd, "prefetch", "on", "off")
	completeFrom(cmd, "links", "auto", "on", "off")
	completeFrom(cmd, "log-level", "debug", "info", "warn", "error")
	completeFrom(cmd, "log-format", "text", "json")
	completeFrom(cmd, "kvl-dangling", "fail", "drop", "null")
	return cmd
}

func (o *serveOptions) define(f *pflag.FlagSet) {
	f.StringVar(&o.config, "config", "", "`FILE` with settings")
	f.StringSliceVar(&o.listen, "listen", []string{remora.DefaultAddr()}, "`URL` to listen on, can be repeated: shm:/path, tcp://host:port, rdma://host:port, text://host:port")
	f.IntVar(&o.cores, "cores", 1, "cores, each with a partition of its own")
	f.IntSliceVar(&o.cpus, "cpus", nil, "`CPUS` that the cores are pinned to, one for each (default: not pinned)")
	f.Var(&o.memory, "memory", "`SIZE` of the cache: items and indexes of all cores")
	f.StringVar(&o.engine, "engine", server.DefaultEngine, "how items are kept: "+strings.Join(server.Engines(), " or ")+"; shared-lru is one table for all cores under a lock, to compare with")
	f.StringVar(&o.mode, "mode", "cache", "when memory is full: cache evicts, store refuses")
	f.StringVar(&o.eviction, "eviction", "second-chance", "what a cache evicts first: second-chance spares what was used, fifo takes the oldest")
	f.Var(&o.maxValue, "max-value", "`SIZE` of the longest value, up to 64MiB")
	f.IntVar(&o.maxClients, "max-clients", server.DefaultMaxClients, "clients that each core takes")
	f.StringVar(&o.poll, "poll", "adaptive", "how idle cores wait: adaptive sleeps, busy does not")
	f.StringVar(&o.prefetch, "prefetch", "on", "off has items loaded when they are needed and not ahead, to measure what that brings")
	f.StringVar(&o.links, "links", "auto", "on lets clients read items where they are, without a core: all memory of the cache, on the first --listen; auto where that is shm for one user, and shared memory has huge pages")
	f.StringVar(&o.socketMode, "socket-mode", "0600", "file `MODE` of shm sockets: who may connect")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&o.logFormat, "log-format", "text", "text or json")
	f.DurationVar(&o.drain, "drain", 5*time.Second, "how long to wait for clients at the end")
	o.kvl.define(f)
}

// completeFrom offers the values of a flag to the shell.
func completeFrom(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// load fills the options from the environment and the file.
func (o *serveOptions) load(flags *pflag.FlagSet) error {
	from := settings.Source{
		Env: os.LookupEnv, Prefix: "REMORA_", FileName: o.config, Skip: []string{"config", "help", "json"},
	}
	if o.config != "" {
		f, err := os.Open(o.config)
		if err != nil {
			return fmt.Errorf("cannot read the configuration: %w", err)
		}
		defer func() { _ = f.Close() }()
		from.File = f
	}
	if err := settings.Fill(flags, from); err != nil {
		return usageError{err}
	}
	return nil
}

// serverConfig translates the options.
func (o *serveOptions) serverConfig(log *slog.Logger) (server.Config, error) {
	cfg := server.Config{
		Listen: o.listen, Cores: o.cores, CPUs: o.cpus, Memory: int64(o.memory), Engine: o.engine,
		MaxValue: int(o.maxValue), MaxClients: o.maxClients, Log: log, Version: programVersion(),
	}
	var faults []error
	var err error
	if cfg.Policy, err = fabric.ParsePolicy(o.poll); err != nil {
		faults = append(faults, err)
	}
	if cfg.NoPrefetch, err = oneOf("prefetch", o.prefetch, map[string]bool{"on": false, "off": true}); err != nil {
		faults = append(faults, err)
	}
	if cfg.Mode, err = oneOf("mode", o.mode, map[string]store.Mode{"cache": store.Cache, "store": store.Store}); err != nil {
		faults = append(faults, err)
	}
	if cfg.Eviction, err = oneOf("eviction", o.eviction, map[string]store.Eviction{
		"second-chance": store.SecondChance, "fifo": store.FIFO,
	}); err != nil {
		faults = append(faults, err)
	}
	if _, err := fmt.Sscanf(o.socketMode, "%o", &cfg.SocketMode); err != nil || cfg.SocketMode > 0o777 {
		faults = append(faults, fmt.Errorf("socket-mode %q is no file mode: write it as 0600 or 0660", o.socketMode))
	}
	auto := linksPay(o.listen, o.engine, os.FileMode(cfg.SocketMode), sharedHugePages)
	if cfg.Links, err = oneOf("links", o.links, map[string]bool{"on": true, "off": false, "auto": auto}); err != nil {
		faults = append(faults, err)
	}
	if len(faults) != 0 {
		return cfg, usageError{errors.Join(faults...)}
	}
	cfg.Providers = provider.New()
	cfg.Providers.Log = log
	return cfg, nil
}

// oneOf looks a word up.
func oneOf[T any](what, word string, values map[string]T) (T, error) {
	v, ok := values[word]
	if !ok {
		return v, fmt.Errorf("%s %q is unknown: use %s", what, word, strings.Join(slices.Sorted(maps.Keys(values)), " or "))
	}
	return v, nil
}

// newLog makes the log of the server; its level can be changed.
func (o *serveOptions) newLog(w io.Writer, level *slog.LevelVar) (*slog.Logger, error) {
	if err := setLevel(level, o.logLevel); err != nil {
		return nil, err
	}
	opts := &slog.HandlerOptions{Level: level}
	switch o.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(w, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	}
	return nil, misuse("log-format %q is unknown: use text or json", o.logFormat)
}

func setLevel(level *slog.LevelVar, name string) error {
	var l slog.Level
	if err := l.UnmarshalText([]byte(name)); err != nil {
		return misuse("log-level %q is unknown: use debug, info, warn or error", name)
	}
	level.Set(l)
	return nil
}

func (a *app) serve(cmd *cobra.Command, o *serveOptions) error {
	r := newReloader(o, cmd.Flags())
	if err := o.load(cmd.Flags()); err != nil {
		return err
	}
	log, err := o.newLog(a.err, &r.level)
	if err != nil {
		return err
	}
	// A first signal drains; from then on the default action is back.
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	if o.kvl.source != "" {
		return a.serveKVL(cmd.Context(), o, log, hup)
	}
	cfg, err := o.serverConfig(log)
	if err != nil {
		return err
	}
	s, err := server.Start(cfg)
	if err != nil {
		return err
	}
	cfg = s.Config()
	log.Info("serving", "version", cfg.Version, "cores", cfg.Cores, "memory", bytesText(cfg.Memory),
		"engine", cfg.Engine, "mode", o.mode, "poll", o.poll, "links", cfg.Links, "pid", os.Getpid())
	if err := a.announce(s); err != nil {
		_ = s.Close()
		return err
	}
	for {
		select {
		case <-hup:
			r.reload(s, log)
		case <-cmd.Context().Done():
			return o.end(s, log)
		}
	}
}

// announce prints where the server listens, for programs that start it.
func (a *app) announce(s *server.Server) error {
	var lines []string
	for _, addr := range s.Addrs() {
		lines = append(lines, addr.String())
	}
	for _, line := range append(lines, s.Doors()...) {
		if err := a.announceAt(line); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) announceAt(line string) error {
	if a.json {
		line = fmt.Sprintf(`{"listening":%q}`, line)
	}
	_, err := fmt.Fprintln(a.out, line)
	return err
}

// end drains the server, for a bounded time or until the next signal.
func (o *serveOptions) end(s *server.Server, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(context.Background(), o.drain)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := s.Drain(ctx)
	log.Info("ended", "uptime", s.Uptime().Round(time.Millisecond).String())
	return err
}
