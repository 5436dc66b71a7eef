package calls

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"runtime/debug"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/cycles"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

// Serve is the server of a case, which Env.Server starts: it obeys the orders on in and
// answers on out until in ends. What the server has to say about its clients goes to log.
func Serve(ctx context.Context, providers bench.Opener, in io.Reader, out, log io.Writer) error {
	debug.SetGCPercent(-1) // C6
	return bench.Serve(ctx, in, out, &callServer{
		providers: providers, scale: cycles.Calibrate(),
		log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
}

// callServer is the server between orders.
type callServer struct {
	providers bench.Opener
	scale     cycles.Scale
	log       *slog.Logger
	dev       fabric.Device
	server    *rfp.Server
	door      host.Endpoint
}

// spareClients is how many more clients than those of the case a core takes: the
// server learns that one is gone after the next has come.
const spareClients = 16

// Setup implements bench.Server.
func (h *callServer) Setup(_ context.Context, o *bench.Order[Case]) (a bench.Answer, err error) {
	c := o.Case
	if h.dev != nil || c.Cores < 1 {
		return a, fmt.Errorf("a server of %d cores, or a second one", c.Cores)
	}
	if o.Apart {
		o.CPUs = host.InTurn(host.CPUs(), c.Cores)
	}
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), c.Cores+2))
	if h.dev, err = h.providers.Open(c.Fabric); err != nil {
		return a, err
	}
	var mux rpc.Mux
	mux.Handle(procedure, h.handler(c))
	h.server, err = rfp.NewServer(rfp.ServerConfig{
		Device: h.dev, Serve: mux.Serve, Cores: c.Cores, CPUs: o.CPUs, Policy: c.Poll,
		Window: c.Window, Results: max(2*c.Window, minResults),
		MaxMessage: max(c.Size, c.ResultSize) + messageRoom, MaxClients: c.Clients + c.Connected + spareClients, Log: h.log,
	})
	if err != nil {
		return a, err
	}
	if h.door, err = host.NewEndpoint(c.Fabric, o.Listen, "bench"); err != nil {
		return a, err
	}
	addr, err := h.server.Listen(h.door.Addr, fabric.ListenConfig{})
	if err != nil {
		return a, fmt.Errorf("listening at %v: %w", h.door.Addr, err)
	}
	a.Address = addr.String()
	return a, nil
}

const (
	// procedure is what is called, and class its class.
	procedure = 1
	class     = uint8(procedure)
	// messageRoom is for what comes before an argument, with some to spare.
	messageRoom = 4096
	// minResults is the least ring for results that rfp makes.
	minResults = 8
)

// handler spins for the process time and returns the argument, cut or filled up
// to the size of a result.
func (h *callServer) handler(c *Case) rpc.Handler {
	filler := bytes.Repeat([]byte{filling}, max(c.ResultSize-c.Size, 0))
	n, ticks := c.ResultSize, h.scale.Ticks(c.Process)
	return func(call *rpc.Call, out []byte) ([]byte, error) {
		if ticks != 0 {
			for start := cycles.Now(); cycles.Now()-start < ticks; {
			}
		}
		out = append(out, call.Request[:min(len(call.Request), n)]...)
		return append(out, filler...), nil
	}
}

// filling is what a result has behind the argument.
const filling = 0xA5

// Counts implements bench.Server.
func (h *callServer) Counts() (load.Verbs, uint64) {
	st, counters := h.server.Stats(), h.dev.Counters()
	return load.VerbsOf(&counters), st.Cut + st.Lost
}

// Hide implements bench.Server.
func (h *callServer) Hide() error { return h.door.Remove() }

// Close implements bench.Server.
func (h *callServer) Close() error {
	return errors.Join(bench.Close(h.server), bench.Close(h.dev), h.door.Remove())
}
