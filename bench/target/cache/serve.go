package cache

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/store"
)

// Serve is the server of a trial, which Env.Server starts: it obeys the orders on in and
// answers on out until in ends. What the server has to say about its clients goes to log.
func Serve(ctx context.Context, providers bench.Opener, in io.Reader, out, log io.Writer) error {
	return bench.Serve(ctx, in, out, &cacheServer{
		providers: providers,
		log:       slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
}

// cacheServer is the server between orders.
type cacheServer struct {
	providers bench.Opener
	log       *slog.Logger
	server    *server.Server
	door      host.Endpoint
}

// Hide implements bench.Server.
func (h *cacheServer) Hide() error { return h.door.Remove() }

// Counts implements bench.Server. The server counts its verbs itself.
func (h *cacheServer) Counts() (load.Verbs, uint64) { return load.Verbs{}, 0 }

// spareClients is how many more clients than those of the case a core takes.
const spareClients = 16

// Setup implements bench.Server.
func (h *cacheServer) Setup(_ context.Context, o *bench.Order[Case]) (a bench.Answer, err error) {
	c := o.Case
	listen := textListen
	if c.Path != PathText {
		if h.door, err = host.NewEndpoint(c.Fabric, "", "bench"); err != nil {
			return a, err
		}
		listen = h.door.Addr.String()
	}
	h.server, err = server.Start(server.Config{
		Listen: []string{listen}, Cores: c.Cores, CPUs: o.CPUs, Memory: c.Memory, Engine: c.Engine,
		MaxKey: store.MaxKey, MaxValue: c.maxValue(), BusyPoll: c.Poll == fabric.Busy, MaxClients: max(server.DefaultMaxClients, max(c.Processes, 1)*c.Clients+spareClients),
		NoPrefetch: c.Prefetch == PrefetchOff, Links: c.Links != 0, Providers: h.providers, Log: h.log, Version: o.Version,
	})
	if err != nil {
		return a, err
	}
	if c.Path == PathText {
		a.Address = h.server.TextAddrs()[0]
	} else {
		a.Address = h.server.Addrs()[0].String()
	}
	return a, nil
}

// Close implements bench.Server.
func (h *cacheServer) Close() error { return errors.Join(bench.Close(h.server), h.door.Remove()) }
