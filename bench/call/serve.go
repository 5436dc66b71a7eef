package call

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/remora-kv/remora/bench/host"

	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/cycles"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

// Serve is the server of a case: it obeys the commands on in and answers on out
// until in ends. It is the whole of the hidden command that Env.Server names.
// What the server has to say about its clients goes to log.
func Serve(ctx context.Context, providers Opener, in io.Reader, out, log io.Writer) error {
	debug.SetGCPercent(-1) // C6
	h := &callServer{
		providers: providers, scale: cycles.Calibrate(),
		log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	return h.serve(ctx, in, out)
}

// callServer is the server's state between commands.
type callServer struct {
	providers Opener
	scale     cycles.Scale
	log       *slog.Logger
	dev       fabric.Device
	server    *rfp.Server
	door      host.Endpoint
	start     time.Time
}

func (h *callServer) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	h.start = time.Now()
	return errors.Join(host.Obey(ctx, in, out, h.obey), h.close())
}

func (h *callServer) obey(_ context.Context, cmd *command) (answer, error) {
	switch {
	case cmd.Do == doSetup:
		return h.setup(cmd)
	case h.server == nil:
		return answer{}, fmt.Errorf("%q before %q", cmd.Do, doSetup)
	case cmd.Do == doHide:
		return answer{}, h.door.Remove()
	case cmd.Do == doCount:
		u, err := h.count()
		return answer{Used: u}, err
	}
	return answer{}, fmt.Errorf("command %q is unknown: are client and server of the same version?", cmd.Do)
}

// spareClients is how many more clients than those of the case a core takes: the
// server learns that one is gone after the next has come.
const spareClients = 16

// setup starts the server and listens.
func (h *callServer) setup(cmd *command) (a answer, err error) {
	if h.dev != nil || cmd.Case == nil || cmd.Case.Cores < 1 {
		return a, fmt.Errorf("%q twice, or without a case", doSetup)
	}
	c := cmd.Case
	if cmd.Apart {
		cmd.CPUs = host.InTurn(host.CPUs(), c.Cores)
	}
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), c.Cores+2))
	if h.dev, err = h.providers.Open(c.Fabric); err != nil {
		return a, err
	}
	var mux rpc.Mux
	mux.Handle(procedure, h.handler(c))
	h.server, err = rfp.NewServer(rfp.ServerConfig{
		Device: h.dev, Serve: mux.Serve, Cores: c.Cores, CPUs: cmd.CPUs, Policy: c.Poll,
		Window: c.Window, Results: max(2*c.Window, minResults),
		MaxMessage: max(c.Size, c.ResultSize) + messageRoom, MaxClients: c.Clients + c.Connected + spareClients, Log: h.log,
	})
	if err != nil {
		return a, err
	}
	if h.door, err = host.NewEndpoint(c.Fabric, cmd.Listen, "bench"); err != nil {
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

// count says what was used until now.
func (h *callServer) count() (*used, error) {
	cpu, err := host.ProcessTime()
	if err != nil {
		return nil, err
	}
	st, counters := h.server.Stats(), h.dev.Counters()
	return &used{Time: time.Since(h.start), CPU: cpu, Verbs: load.VerbsOf(&counters), Lost: st.Cut + st.Lost}, nil
}

func (h *callServer) close() error {
	var errs []error
	if h.server != nil {
		errs = append(errs, h.server.Close())
	}
	if h.dev != nil {
		errs = append(errs, h.dev.Close())
	}
	errs = append(errs, h.door.Remove())
	return errors.Join(errs...)
}
