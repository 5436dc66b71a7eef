package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/keli"
	"github.com/remora-kv/remora/kvl/load"
)

// kvlOptions are the flags of serve that are about items with links.
type kvlOptions struct {
	source   string
	mapping  string
	dangling string
	notify   string
	reload   time.Duration
	lease    time.Duration
	command  bool
}

func (o *kvlOptions) define(f *pflag.FlagSet) {
	f.StringVar(&o.source, "kvl", "", "serve items with links in place of a cache, loaded from this `SOURCE`: see remora load")
	f.StringVar(&o.mapping, "kvl-mapping", "", "`FILE` that says what becomes of its tables and columns")
	f.StringVar(&o.dangling, "kvl-dangling", kvl.Fail.String(), "what becomes of references to rows that are not there: fail, drop or null")
	f.DurationVar(&o.reload, "kvl-reload", 0, "load the source again as often as that (default: not by itself, but on SIGHUP)")
	f.BoolVar(&o.command, "kvl-command", false, "load it again whenever a client says so, by remora reload")
	f.StringVar(&o.notify, "kvl-notify", "", "load it again when PostgreSQL sends a notification on this `CHANNEL`")
	f.DurationVar(&o.lease, "kvl-lease", 10*time.Second, "how long clients may go on with what was loaded before")
}

// serveKVL serves items with links until it is told to stop.
func (a *app) serveKVL(ctx context.Context, o *serveOptions, log *slog.Logger, hup <-chan os.Signal) error {
	p, err := newPublisher(o, log)
	if err != nil {
		return err
	}
	cfg, err := o.serverConfig(log)
	if err != nil {
		return err
	}
	h, err := openHouse(cfg.Providers, o.listen)
	if err != nil {
		return err
	}
	defer h.close()
	var reload func()
	if o.kvl.command {
		reload = func() { p.want("command") }
	}
	p.server, err = keli.NewServer(keli.Config{
		Device: h.devices[0], Others: h.devices[1:], Cores: cfg.Cores, CPUs: cfg.CPUs, Policy: cfg.Policy,
		Lease: o.kvl.lease, MaxClients: cfg.MaxClients, Reload: reload, Log: log,
	})
	if err != nil {
		return asUsage(err)
	}
	defer func() { _ = p.server.Close() }()
	if err := p.publish(ctx); err != nil {
		return asUsage(err)
	}
	for _, place := range h.places {
		addr, err := p.server.ListenOn(place.device, place.addr, fabric.ListenConfig{Mode: cfg.SocketMode})
		if err != nil {
			return fmt.Errorf("cannot listen on %s: %w", place.addr, err)
		}
		if err := a.announceAt(addr.String()); err != nil {
			return err
		}
	}
	log.Info("serving", "source", p.source.String(), "cores", cfg.Cores, "lease", o.kvl.lease, "pid", os.Getpid())
	return p.run(ctx, hup)
}

// house is the devices of a server, and where it listens on them.
type house struct {
	devices []fabric.Device
	places  []housePlace
}

type housePlace struct {
	addr   fabric.Addr
	device fabric.Device
}

// openHouse opens a device for each fabric among the addresses.
func openHouse(set *provider.Set, urls []string) (*house, error) {
	h := &house{}
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
		h.places = append(h.places, housePlace{addr, known[key]})
	}
	return h, nil
}

func (h *house) close() {
	for _, d := range h.devices {
		_ = d.Close()
	}
}

// publisher loads a source again and again.
type publisher struct {
	options  *kvlOptions
	mapping  *load.Mapping
	dangling kvl.Dangling
	source   load.Source
	server   *keli.Server
	log      *slog.Logger
	wanted   chan string // why to load again
}

func newPublisher(o *serveOptions, log *slog.Logger) (p *publisher, err error) {
	p = &publisher{options: &o.kvl, log: log, wanted: make(chan string, 1)}
	if p.dangling, err = kvl.ParseDangling(o.kvl.dangling); err != nil {
		return nil, misuse("--kvl-dangling %q: use fail, drop or null", o.kvl.dangling)
	}
	if o.kvl.reload < 0 {
		return nil, misuse("--kvl-reload %v: it cannot be negative", o.kvl.reload)
	}
	if o.kvl.mapping != "" {
		if p.mapping, err = load.ReadMapping(o.kvl.mapping); err != nil {
			return nil, asUsage(err)
		}
	}
	if p.source, err = load.Open(o.kvl.source); err != nil {
		return nil, asUsage(err)
	}
	return p, nil
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
			p.log.Warn("references lead to rows that are not there", "count", st.Dangling,
				"first", fmt.Sprintf("%s of %s %s: %s", d.Attr, d.FromType, d.FromKey, d.To))
		}
		p.log.Debug("loaded", "rows", report.Rows)
		return image, err
	})
}

// run loads again whenever there is a reason to, until ctx is over. What fails is in the
// log, and what was loaded before stays.
func (p *publisher) run(ctx context.Context, hup <-chan os.Signal) error {
	defer func() { _ = p.source.Close() }()
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

// want has the source loaded again, once for all reasons that come while it is.
func (p *publisher) want(why string) {
	select {
	case p.wanted <- why:
	default:
	}
}

// reload loads the source each time it is wanted.
func (p *publisher) reload(ctx context.Context) {
	for {
		select {
		case why := <-p.wanted:
			p.log.Info("loading again", "because", why)
			if err := p.publish(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, keli.ErrClosed) {
				p.log.Error("what was loaded before stays", "err", err)
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
		Lost: func(err error) { p.log.Warn("notifications are not heard", "err", err) },
	})
}
