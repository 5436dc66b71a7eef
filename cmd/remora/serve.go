package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
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
	"github.com/remora-kv/remora/internal/doctor"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/store"
)

// hostOptions are the flags of every server.
type hostOptions struct {
	config                                string
	listen                                []string
	cores                                 int
	cpus                                  []int
	maxClients                            int
	poll, socketMode, logLevel, logFormat string
	allowUsers, allowGroups               []string
}

// define adds the flags that matter most, and advanced those for the end of the help.
func (o *hostOptions) define(f *pflag.FlagSet) {
	f.StringSliceVar(&o.listen, "listen", []string{remora.DefaultAddr()}, "`URL` to listen on, can be repeated: shm:/path, tcp://host:port, rdma://host:port")
	f.IntVar(&o.cores, "cores", 1, "`NUMBER` of cores, each with its own partition")
	f.IntVar(&o.maxClients, "max-clients", server.DefaultMaxClients, "`NUMBER` of clients that each core accepts")
	f.StringVar(&o.config, "config", "", "`FILE` with settings")
	choose(f, &o.logLevel, "log-level", "info", "least severe messages to log", "debug", "info", "warn", "error")
}

func (o *hostOptions) advanced(f *pflag.FlagSet) {
	f.IntSliceVar(&o.cpus, "cpus", nil, "`CPUS` to pin the cores to, one for each (default: not pinned)")
	choose(f, &o.poll, "poll", "adaptive", "how idle cores wait: adaptive sleeps, busy never does", "adaptive", "busy")
	f.StringSliceVar(&o.allowUsers, "allow-user", nil, "`USER` beside the server's and root who may connect over shm, can be repeated")
	f.StringSliceVar(&o.allowGroups, "allow-group", nil, "`GROUP` whose members may connect over shm, can be repeated")
	f.StringVar(&o.socketMode, "socket-mode", "0600", "file `MODE` of shm sockets; 0666 by default with --allow-user or --allow-group")
	choose(f, &o.logFormat, "log-format", "text", "format of the log", "text", "json")
	section(f, "Host", "cpus", "poll", "allow-user", "allow-group", "socket-mode", "log-format")
}

// fill completes the flags from the environment and the file.
func (o *hostOptions) fill(flags *pflag.FlagSet) error {
	from := settings{env: os.LookupEnv, fileName: o.config}
	if o.config != "" {
		f, err := os.Open(o.config)
		if err != nil {
			return fmt.Errorf("cannot read the configuration: %w", err)
		}
		defer func() { _ = f.Close() }()
		from.file = f
	}
	if err := from.fill(flags); err != nil {
		return usageError{err}
	}
	for _, name := range []string{"cores", "max-clients", "memory", "max-key", "max-value"} {
		if f := flags.Lookup(name); f != nil && f.Changed && strings.HasPrefix(f.Value.String(), "0") {
			return misuse("--%s must be above 0; the default is %s", name, f.DefValue)
		}
	}
	return nil
}

// newLog makes the log of the server; its level can be changed.
func (o *hostOptions) newLog(w io.Writer, level *slog.LevelVar) *slog.Logger {
	setLevel(level, o.logLevel)
	opts := &slog.HandlerOptions{Level: level}
	if o.logFormat == "json" {
		return slog.New(limitRepeats(slog.NewJSONHandler(w, opts)))
	}
	return slog.New(limitRepeats(slog.NewTextHandler(w, opts)))
}

// setLevel sets a level by a name that was checked.
func setLevel(level *slog.LevelVar, name string) { _ = level.UnmarshalText([]byte(name)) }

// settingsHelp is the end of the help of every server.
const settingsHelp = `

Every flag can also be set in the environment (--max-clients is REMORA_MAX_CLIENTS) and
in the --config file, one "name = value" per line. The command line overrides the
environment, and the environment overrides the file.`

// serveOptions are the flags of serve.
type serveOptions struct {
	hostOptions
	memory      size
	engine      string
	full        string
	eviction    string
	maxKey      size
	maxValue    size
	prefetch    string
	directReads string
	drain       time.Duration
}

func newServeOptions() *serveOptions {
	return &serveOptions{memory: server.DefaultMemory, maxKey: server.DefaultMaxKey, maxValue: store.DefaultMaxValue}
}

func newServeCmd(a *app) *cobra.Command {
	o := newServeOptions()
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the cache",
		Long: `Run the cache until SIGINT (Ctrl-C) or SIGTERM. It then accepts no new clients,
answers unfinished requests for up to --drain and ends; a second signal ends it at once.

SIGHUP reads the configuration again and applies log-level, max-clients (up to its value
at the start) and drain. The log names other changed settings, which need a restart.` + settingsHelp,
		Example: `  remora serve                                          for this user, over shared memory
  remora serve --listen tcp://:7700 --memory 8GiB       for other hosts
  remora serve --listen shm:/run/remora.sock --listen tcp://:7700 --cores 4
  remora serve --listen shm:/run/remora/remora.sock --allow-group www-data
  remora serve --listen text://:7701                    GET, SET, DEL and QUIT as lines over plain TCP
  remora serve --mode store                             refuse new items instead of evicting
  remora serve --config /etc/remora.conf`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd, o) },
	}
	o.define(cmd.Flags())
	complete(cmd)
	return cmd
}

func (o *serveOptions) define(f *pflag.FlagSet) {
	o.hostOptions.define(f)
	f.Lookup("listen").Usage += ", text://host:port"
	f.Var(&o.memory, "memory", "memory for items and indexes, in all")
	f.Var(&o.maxKey, "max-key", "longest key, up to 65535B")
	f.Var(&o.maxValue, "max-value", "largest value, up to 64MiB")
	choose(f, &o.full, "mode", "cache", "when memory is full: cache evicts, store refuses", "cache", "store")
	f.DurationVar(&o.drain, "drain", 5*time.Second, "time to answer unfinished requests at the end")
	choose(f, &o.engine, "engine", server.DefaultEngine, "how items are stored: "+either(server.Engines()), server.Engines()...)
	choose(f, &o.eviction, "eviction", "second-chance", "which items a cache evicts: second-chance spares those in use, fifo takes the oldest", "second-chance", "fifo")
	choose(f, &o.directReads, "direct-reads", "auto", "on: clients may read items directly from server memory, bypassing the CPU, at the first --listen address; "+
		"auto: with engine mica, if that is shm for one user and shared memory has huge pages", "on", "off", "auto")
	choose(f, &o.prefetch, "prefetch", "on", "off: do not prefetch items (for measuring the gain)", "on", "off")
	section(f, "Engine", "engine", "eviction", "direct-reads", "prefetch")
	o.advanced(f)
}

// serverConfig translates the options.
func (o *serveOptions) serverConfig(flags *pflag.FlagSet, log *slog.Logger) (server.Config, error) {
	who, err := o.access(flags)
	if err == nil {
		err = o.checkEffects(flags)
	}
	cfg := server.Config{
		Listen: o.listen, Cores: o.cores, CPUs: o.cpus, Memory: int64(o.memory), Engine: o.engine,
		MaxKey: int(o.maxKey), MaxValue: int(o.maxValue), MaxClients: o.maxClients,
		SocketMode: who.mode, AllowUIDs: who.uids, AllowGIDs: who.gids,
		NoPrefetch: o.prefetch == "off", Log: log, Version: programVersion(),
	}
	if o.full == "store" {
		cfg.Mode = store.Store
	}
	if o.eviction == "fifo" {
		cfg.Eviction = store.FIFO
	}
	cfg.Links = o.directReads == "on" || o.directReads == "auto" && directReadsPay(o.listen, o.engine, os.FileMode(who.mode), sharedHugePages)
	cfg.BusyPoll = o.poll == fabric.Busy.String()
	if err != nil {
		return cfg, usageError{err}
	}
	providers := provider.New()
	providers.Log = log
	cfg.Providers = providers
	checked := cfg
	checked.Log = nil // the server logs its warnings
	if _, err := checked.Complete(); err != nil {
		return cfg, usageError{err}
	}
	return cfg, nil
}

// checkEffects refuses flags that have no effect beside others.
func (o *serveOptions) checkEffects(flags *pflag.FlagSet) error {
	evicts := flags.Changed("eviction")
	switch {
	case evicts && o.full == "store":
		return errors.New("--eviction has no effect with --mode store")
	case evicts && (o.engine == "lru8" || o.engine == "shared-lru"):
		return fmt.Errorf("--eviction has no effect with --engine %s, which always evicts the least recently used", o.engine)
	case o.directReads == "off" && server.Exported(o.engine):
		return fmt.Errorf("--direct-reads off has no effect with --engine %s, whose items clients always may read directly", o.engine)
	case flags.Changed("prefetch") && (o.engine == "shared-lru" || o.engine == "slots"):
		return fmt.Errorf("--prefetch has no effect with --engine %s, which has nothing to prefetch", o.engine)
	case o.directReads == "on" && !slices.ContainsFunc(o.listen, func(url string) bool { return !strings.HasPrefix(url, "text:") }):
		return errors.New("--direct-reads on has no effect when all --listen addresses are text")
	}
	return nil
}

func (a *app) serve(cmd *cobra.Command, o *serveOptions) error {
	r := newReloader(o, cmd.Flags())
	if err := o.fill(cmd.Flags()); err != nil {
		return err
	}
	log := o.newLog(a.err, &r.level)
	cfg, err := o.serverConfig(cmd.Flags(), log)
	if err != nil {
		return err
	}
	if bytes, limit := doctor.ThisHost().Memory(); bytes != 0 && uint64(cfg.Memory) > bytes {
		log.Warn("--memory is more than this server can have: the kernel may end it when it is full",
			"memory", bytesText(cfg.Memory), "limit", bytesText(int64(bytes)), "limit-of", limit)
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	s, err := server.Start(cfg)
	if err != nil {
		return err
	}
	cfg = s.Config()
	log.Info("serving", "version", cfg.Version, "cores", cfg.Cores, "memory", bytesText(cfg.Memory),
		"engine", cfg.Engine, "mode", o.full, "poll", o.poll, "direct-reads", cfg.Links, "pid", os.Getpid())
	urls := s.TextAddrs()
	for i, addr := range s.Addrs() {
		urls = slices.Insert(urls, i, addr.String())
	}
	warnExposed(log, urls)
	if err := a.announce(urls); err != nil {
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
func (a *app) announce(urls []string) error {
	for _, url := range urls {
		if a.json {
			url = fmt.Sprintf(`{"listening":%q}`, url)
		}
		if _, err := fmt.Fprintln(a.out, url); err != nil {
			return err
		}
	}
	return nil
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
