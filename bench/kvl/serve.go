package kvl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/remora-kv/remora/bench/host"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/app"
	"github.com/remora-kv/remora/kvl/keli"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/store"
)

// Serve is the server of a case: it obeys the commands on in and answers on out until in
// ends. It is the whole of the hidden command that Env.Server names. What the server has to
// say about its clients goes to log.
func Serve(ctx context.Context, providers *provider.Set, in io.Reader, out, log io.Writer) error {
	h := &kvlServer{
		providers: providers,
		log:       slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	return h.serve(ctx, in, out)
}

func (h *kvlServer) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	return errors.Join(host.Obey(ctx, in, out, h.obey), h.close())
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// kvlServer is the server's state between commands.
type kvlServer struct {
	providers *provider.Set
	log       *slog.Logger
	door      host.Endpoint
	dev       fabric.Device
	keli      *keli.Server
	cache     *server.Server
}

func (h *kvlServer) obey(ctx context.Context, cmd *command) (a answer, err error) {
	switch cmd.Do {
	case doSetup:
		return h.setup(ctx, cmd)
	case doHide:
		return a, h.door.Remove()
	case doCount:
		a.CPU, err = host.ProcessTime()
		return a, err
	}
	return a, fmt.Errorf("command %q is unknown: are client and server of the same version?", cmd.Do)
}

func (h *kvlServer) setup(ctx context.Context, cmd *command) (a answer, err error) {
	c := cmd.Case
	if h.dev != nil || h.cache != nil || c == nil {
		return a, fmt.Errorf("%q twice, or without a case", doSetup)
	}
	if h.door, err = host.NewEndpoint(c.Fabric, "", "bench-"+c.Path); err != nil {
		return a, err
	}
	if c.cached() {
		return h.startCache(cmd)
	}
	return h.startKeli(ctx, cmd)
}

// cached reports whether the path is one of the cache.
func (c *Case) cached() bool { return c.by(PathRFP) || c.Path == PathBatch }

// startCache starts an empty cache, which refuses what it has no room for: what is missing
// would be fast.
func (h *kvlServer) startCache(cmd *command) (a answer, err error) {
	h.cache, err = server.Start(server.Config{
		Listen: []string{h.door.Addr.String()}, Cores: 1, CPUs: cmd.CPUs, Memory: cmd.Case.memory(), Mode: store.Store,
		Providers: h.providers, Log: h.log,
	})
	if err != nil {
		return a, err
	}
	return answer{Address: h.cache.Addrs()[0].String()}, nil
}

func (h *kvlServer) startKeli(ctx context.Context, cmd *command) (a answer, err error) {
	c := cmd.Case
	if h.dev, err = h.providers.Open(c.Fabric); err != nil {
		return a, err
	}
	h.keli, err = keli.NewServer(keli.Config{Device: h.dev, CPUs: cmd.CPUs, Log: h.log})
	if err != nil {
		return a, err
	}
	err = h.keli.Publish(func(cfg kvl.Config) (*kvl.Image, error) {
		img, err := c.image(ctx, cfg)
		if err == nil {
			st := img.Stats()
			a.Items, a.Bytes = st.Items, st.Bytes
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

func (h *kvlServer) close() error {
	var errs []error
	if h.keli != nil {
		errs = append(errs, h.keli.Close())
	}
	if h.cache != nil {
		errs = append(errs, h.cache.Close())
	}
	if h.dev != nil {
		errs = append(errs, h.dev.Close())
	}
	errs = append(errs, h.door.Remove())
	return errors.Join(errs...)
}
