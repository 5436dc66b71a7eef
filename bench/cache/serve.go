package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/server"
)

// Serve is the server of a trial: it obeys the commands on in and answers on out
// until in ends. It is the whole of the hidden command that Env.Server names. What
// the server has to say about its clients goes to log.
func Serve(ctx context.Context, providers *provider.Set, in io.Reader, out, log io.Writer) error {
	h := &cacheServer{
		providers: providers,
		log:       slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	return h.serve(ctx, in, out)
}

// cacheServer is the server's state between commands.
type cacheServer struct {
	providers *provider.Set
	log       *slog.Logger
	server    *server.Server
	door      host.Endpoint
}

func (h *cacheServer) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	return errors.Join(host.Obey(ctx, in, out, h.obey), h.close())
}

func (h *cacheServer) obey(_ context.Context, cmd *order) (answer, error) {
	switch cmd.Do {
	case doSetup:
		return h.setup(cmd)
	case doHide:
		return answer{}, h.door.Remove()
	}
	return answer{}, fmt.Errorf("command %q is unknown: are client and server of the same version?", cmd.Do)
}

// spareClients is how many more clients than those of the case a core takes.
const spareClients = 16

// setup starts the server.
func (h *cacheServer) setup(cmd *order) (a answer, err error) {
	if h.server != nil || cmd.Case == nil {
		return a, fmt.Errorf("%q twice, or without a case", doSetup)
	}
	c := cmd.Case
	listen := textListen
	if c.Path != PathText {
		if h.door, err = host.NewEndpoint(c.Fabric, "", "bench"); err != nil {
			return a, err
		}
		listen = h.door.Addr.String()
	}
	h.server, err = server.Start(server.Config{
		Listen: []string{listen}, Cores: c.Cores, CPUs: cmd.CPUs, Memory: c.Memory, Engine: c.Engine,
		MaxValue: c.maxValue(), BusyPoll: c.Poll == fabric.Busy, MaxClients: max(server.DefaultMaxClients, max(c.Processes, 1)*c.Clients+spareClients),
		NoPrefetch: c.Prefetch == PrefetchOff, Links: c.Links != 0, Providers: h.providers, Log: h.log, Version: cmd.Version,
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

func (h *cacheServer) close() error {
	var err error
	if h.server != nil {
		err = h.server.Close()
	}
	return errors.Join(err, h.door.Remove())
}
