package kvl

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/app"
	"github.com/remora-kv/remora/kvl/keli"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/store"
)

// Serve is the server of a case, which Env.Server starts: it obeys the orders on in and
// answers on out until in ends. What the server has to say about its clients goes to log.
func Serve(ctx context.Context, providers bench.Opener, in io.Reader, out, log io.Writer) error {
	return bench.Serve(ctx, in, out, &kvlServer{
		providers: providers,
		log:       slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
}

// kvlServer is the server between orders.
type kvlServer struct {
	providers bench.Opener
	log       *slog.Logger
	door      host.Endpoint
	dev       fabric.Device
	keli      *keli.Server
	cache     *server.Server
}

// Setup implements bench.Server.
func (h *kvlServer) Setup(ctx context.Context, o *bench.Order[Case]) (a bench.Answer, err error) {
	if h.door, err = host.NewEndpoint(o.Case.Fabric, "", "bench-"+o.Case.Path); err != nil {
		return a, err
	}
	if o.Case.cached() {
		return h.startCache(o)
	}
	return h.startKeli(ctx, o)
}

// Hide implements bench.Server.
func (h *kvlServer) Hide() error { return h.door.Remove() }

// Counts implements bench.Server.
func (h *kvlServer) Counts() (load.Verbs, uint64) { return load.Verbs{}, 0 }

// cached reports whether the path is one of the cache.
func (c *Case) cached() bool { return c.by(PathRFP) || c.Path == PathBatch }

// startCache starts an empty cache, which refuses what it has no room for: what is missing
// would be fast.
func (h *kvlServer) startCache(o *bench.Order[Case]) (a bench.Answer, err error) {
	h.cache, err = server.Start(server.Config{
		Listen: []string{h.door.Addr.String()}, Cores: 1, CPUs: o.CPUs, Memory: o.Case.memory(), Mode: store.Store, MaxKey: store.MaxKey,
		Providers: h.providers, Log: h.log,
	})
	if err != nil {
		return a, err
	}
	return bench.Answer{Address: h.cache.Addrs()[0].String()}, nil
}

func (h *kvlServer) startKeli(ctx context.Context, o *bench.Order[Case]) (a bench.Answer, err error) {
	c := o.Case
	if h.dev, err = h.providers.Open(c.Fabric); err != nil {
		return a, err
	}
	h.keli, err = keli.NewServer(keli.Config{Device: h.dev, CPUs: o.CPUs, Log: h.log})
	if err != nil {
		return a, err
	}
	err = h.keli.Publish(func(cfg kvl.Config) (*kvl.Image, error) {
		img, err := c.image(ctx, cfg)
		if err == nil {
			a.Items = img.Stats().Items
		}
		return img, err
	})
	if err != nil {
		return a, err
	}
	addr, err := h.keli.Listen(h.door.Addr, fabric.ListenConfig{})
	a.Address = addr.String()
	return a, err
}

// areaSize is that of few areas: who reads in one all the time finds it sooner.
const areaSize = 1 << 30

// image builds the data of a case with links.
func (c *Case) image(ctx context.Context, cfg kvl.Config) (*kvl.Image, error) {
	cfg.Inline, cfg.AreaSize = app.Inline, areaSize
	b, err := kvl.NewBuilder(cfg)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	switch c.App {
	case AppPage:
		err = c.Shop.Links(b)
	case AppSearch:
		err = c.Graph.Links(b)
	default:
		err = c.City.Links(b)
	}
	if err != nil {
		return nil, err
	}
	return b.Seal(ctx)
}

// values gives the data of a case to a store.
func (c *Case) values(put app.Put) (int, error) {
	switch c.App {
	case AppPage:
		return c.Shop.Values(put)
	case AppSearch:
		return c.Graph.Values(put)
	default:
		return c.City.Values(put)
	}
}

// memory is enough for the data of a case.
func (c *Case) memory() int64 {
	const itemBytes, edgeBytes, textBytes = 256, 16, 1024
	n := int64(64 << 20)
	switch c.App {
	case AppPage:
		n += int64(c.Shop.Products+c.Shop.Reviews+c.Shop.Users) * textBytes
	case AppSearch:
		n += int64(c.Graph.Nodes)*itemBytes + int64(c.Graph.Edges)*edgeBytes
	default:
		n += int64(c.City.Items()) * itemBytes
	}
	return n
}

// Close implements bench.Server.
func (h *kvlServer) Close() error {
	return errors.Join(bench.Close(h.keli), bench.Close(h.cache), bench.Close(h.dev), h.door.Remove())
}
