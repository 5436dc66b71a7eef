package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/keli"
	"github.com/remora-kv/remora/kvl/load"
)

// kvlOptions are the flags of kvl serve.
type kvlOptions struct {
	hostOptions
	sourceFlags
	source      string
	notify      string
	reload      time.Duration
	lease       time.Duration
	allowReload bool
}

func newKVLServeCmd(a *app) *cobra.Command {
	o := &kvlOptions{}
	cmd := &cobra.Command{
		Use:   "serve SOURCE",
		Short: "Serve a database as items with links",
		Long: `Serve a database or a file as items with links, until SIGINT (Ctrl-C) or SIGTERM.
remora kvl check --help describes sources and mappings.

SIGHUP loads the source again; --reload-every, --notify and --allow-reload do so on other
occasions. The previous generation is served until the new one is complete, and stays if
loading fails.` + settingsHelp + `
SOURCE is the setting source: a URL with a password is better kept there.`,
		Example: `  remora kvl serve shop.db
  remora kvl serve shop.db --reload-every 10m --listen tcp://:7700
  remora kvl serve postgres://app@db1/shop --notify changed`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return misuse("%s needs one source, but was given %d", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.serveKVL(cmd, o, args) },
	}
	f := cmd.Flags()
	o.hostOptions.define(f)
	o.sourceFlags.define(f)
	f.StringVar(&o.source, "source", "", "SOURCE, for the environment and the file")
	_ = f.MarkHidden("source")
	f.DurationVar(&o.reload, "reload-every", 0, "load the source again at this interval (default: only on SIGHUP)")
	f.StringVar(&o.notify, "notify", "", "load the source again when PostgreSQL sends a notification on this `CHANNEL`")
	f.BoolVar(&o.allowReload, "allow-reload", false, "let clients start a reload (remora kvl reload)")
	f.DurationVar(&o.lease, "lease", 10*time.Second, "time that clients may keep using the previous generation")
	section(f, "Reload", "reload-every", "notify", "allow-reload", "lease")
	o.advanced(f)
	complete(cmd)
	return cmd
}

// settle completes the options and refuses what cannot be meant.
func (o *kvlOptions) settle(flags *pflag.FlagSet, args []string) error {
	if len(args) == 1 {
		if flags.Changed("source") {
			return misuse("SOURCE and --source exclude each other")
		}
		if err := flags.Set("source", args[0]); err != nil {
			return err
		}
	}
	if err := o.fill(flags); err != nil {
		return err
	}
	switch {
	case o.source == "":
		return misuse("SOURCE is missing: a database or a file, such as shop.db")
	case o.notify != "" && !strings.HasPrefix(o.source, "postgres:") && !strings.HasPrefix(o.source, "postgresql:"):
		return misuse("--notify has no effect without a PostgreSQL source (postgres://user@host/database)")
	case o.reload < 0:
		return misuse("--reload-every %v must not be negative", o.reload)
	}
	return nil
}

// serveKVL serves items with links until a signal.
func (a *app) serveKVL(cmd *cobra.Command, o *kvlOptions, args []string) error {
	if err := o.settle(cmd.Flags(), args); err != nil {
		return err
	}
	who, err := o.access(cmd.Flags())
	if err != nil {
		return usageError{err}
	}
	log := o.newLog(a.err, new(slog.LevelVar))
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	p, err := newPublisher(o, log)
	if err != nil {
		return err
	}
	defer func() { _ = p.source.Close() }()
	set := provider.New()
	set.Log = log
	h, err := openListeners(set, o.listen)
	if err != nil {
		return err
	}
	defer h.close()
	if p.server, err = p.newServer(h); err != nil {
		return asUsage(err)
	}
	defer func() { _ = p.server.Close() }()
	if err := p.publish(cmd.Context()); err != nil {
		return asUsage(err)
	}
	var urls []string
	for _, l := range h.addrs {
		addr, err := p.server.ListenOn(l.device, l.addr, fabric.ListenConfig{Mode: who.mode, AllowUIDs: who.uids, AllowGIDs: who.gids})
		if err != nil {
			return fmt.Errorf("cannot listen on %s: %w", l.addr, err)
		}
		urls = append(urls, addr.String())
	}
	warnExposed(log, urls)
	if err := a.announce(urls); err != nil {
		return err
	}
	log.Info("serving", "source", p.source.String(), "cores", o.cores, "lease", o.lease.String(), "pid", os.Getpid())
	return p.run(cmd.Context(), hup)
}

// listeners are the addresses of a server and the devices they are on.
type listeners struct {
	devices []fabric.Device
	addrs   []listener
}

type listener struct {
	addr   fabric.Addr
	device fabric.Device
}

// openListeners opens a device for each fabric among the addresses.
func openListeners(set *provider.Set, urls []string) (*listeners, error) {
	h := &listeners{}
	known := map[string]fabric.Device{}
	for _, url := range urls {
		addr, err := fabric.ParseAddr(url)
		if err != nil {
			h.close()
			return nil, usageError{err}
		}
		key := fabric.Addr{Fabric: addr.Fabric, Options: addr.Options}.String()
		if known[key] == nil {
			if known[key], err = set.Open(url); err != nil {
				h.close()
				return nil, fmt.Errorf("%s: %w", url, err)
			}
			h.devices = append(h.devices, known[key])
		}
		h.addrs = append(h.addrs, listener{addr, known[key]})
	}
	return h, nil
}

func (h *listeners) close() {
	for _, d := range h.devices {
		_ = d.Close()
	}
}

// publisher loads a source, and again whenever there is a reason.
type publisher struct {
	options  *kvlOptions
	mapping  *load.Mapping
	dangling kvl.Dangling
	source   load.Source
	server   *keli.Server
	log      *slog.Logger
	wanted   chan string // why to load again
}

func newPublisher(o *kvlOptions, log *slog.Logger) (p *publisher, err error) {
	p = &publisher{options: o, log: log, wanted: make(chan string, 1)}
	p.source, p.mapping, p.dangling, err = o.open(o.source)
	return p, err
}

func (p *publisher) newServer(h *listeners) (*keli.Server, error) {
	o := p.options
	cfg := keli.Config{
		Device: h.devices[0], Others: h.devices[1:], Cores: o.cores, CPUs: o.cpus,
		Lease: o.lease, MaxClients: o.maxClients, Log: p.log,
	}
	cfg.BusyPoll = o.poll == fabric.Busy.String()
	if o.allowReload {
		cfg.Reload = func() { p.want("command") }
	}
	return keli.NewServer(cfg)
}

// publish loads the source and makes it current.
func (p *publisher) publish(ctx context.Context) error {
	return p.server.Publish(func(cfg kvl.Config) (*kvl.Image, error) {
		cfg.Dangling = p.dangling
		b, err := kvl.NewBuilder(cfg)
		if err != nil {
			return nil, err
		}
		defer b.Close()
		report, err := load.Load(ctx, p.source, p.mapping, b, nil)
		if err != nil {
			return nil, err
		}
		image, err := b.Seal(ctx)
		if st := b.Stats(); st.Dangling != 0 {
			d := st.Dangled[0]
			p.log.Warn("references to missing rows", "count", st.Dangling,
				"first", fmt.Sprintf("%s of %s %s: %s", d.Attr, d.FromType, d.FromKey, d.To))
		}
		p.log.Debug("loaded", "rows", report.Rows)
		return image, err
	})
}

// run loads again whenever there is a reason to, until ctx is over. If that fails, the log
// says so and the previous generation stays.
func (p *publisher) run(ctx context.Context, hup <-chan os.Signal) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 1)
	if p.options.notify != "" {
		go func() { failed <- p.watch(ctx) }()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.reload(ctx)
	}()
	defer func() { cancel(); <-done }()
	var tick <-chan time.Time
	if p.options.reload != 0 {
		ticker := time.NewTicker(p.options.reload)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-hup:
			p.want("SIGHUP")
		case <-tick:
			p.want("interval")
		case err := <-failed:
			if err != nil && ctx.Err() == nil {
				return asUsage(err)
			}
		case <-ctx.Done():
			p.log.Info("ended")
			return nil
		}
	}
}

// want asks for a reload. Reasons that come during a reload share the next one.
func (p *publisher) want(why string) {
	select {
	case p.wanted <- why:
	default:
	}
}

// reload loads the source each time want asks for it.
func (p *publisher) reload(ctx context.Context) {
	for {
		select {
		case why := <-p.wanted:
			p.log.Info("loading again", "because", why)
			if err := p.publish(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, keli.ErrClosed) {
				p.log.Error("loading failed, the previous generation stays", "err", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// watch listens for notifications.
func (p *publisher) watch(ctx context.Context) error {
	return load.Watch(ctx, load.WatchConfig{
		Source: p.options.source, Channel: p.options.notify, Changed: func() { p.want("notification") },
		Lost: func(err error) { p.log.Warn("lost the connection for notifications", "err", err) },
	})
}
