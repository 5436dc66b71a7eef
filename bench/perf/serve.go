package perf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/arena"
	"github.com/remora-kv/remora/internal/cycles"
)

// limitFD is the descriptor under which a server process inherits the memory
// of the limit test.
const limitFD = 3

// Serve is the server of a test: it obeys the commands on in and answers on
// out until in ends. It is the whole of the hidden command that Env.Server
// names.
func Serve(ctx context.Context, providers Opener, in io.Reader, out io.Writer) error {
	debug.SetGCPercent(-1) // see the package doc
	h := &verbsServer{providers: providers, scale: cycles.Calibrate()}
	return h.serve(ctx, in, out)
}

func (h *verbsServer) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	return errors.Join(host.Obey(ctx, in, out, h.obey), h.close())
}

// verbsServer is the server's state between commands.
type verbsServer struct {
	providers Opener
	scale     cycles.Scale
	side      *side
	listener  fabric.Listener
	door      host.Endpoint // removed when all are connected
	accepted  chan error    // the result of accepting all lanes
	memory    *arena.Block  // of the limit test
	unlink    func()        // ends accepting
}

func (h *verbsServer) obey(ctx context.Context, cmd *command) (answer, error) {
	if cmd.Do == doSetup {
		return h.setup(ctx, cmd)
	}
	if h.side == nil {
		return answer{}, fmt.Errorf("%q before %q", cmd.Do, doSetup)
	}
	switch cmd.Do {
	case doLink:
		return answer{}, h.link(ctx, cmd)
	case doStart:
		h.side.start(budget{Ops: unlimited})
		return answer{}, nil
	case doRun:
		return h.tally(h.side.run(ctx, cmd.Budget))
	case doStop:
		return h.tally(h.side.stop())
	case doVerify:
		return answer{}, h.side.verify(cmd.Ops)
	}
	return answer{}, fmt.Errorf("command %q is unknown: are client and server of the same version?", cmd.Do)
}

func (h *verbsServer) tally(t tally, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	w, err := t.wire(h.side.scale)
	return answer{Tally: w}, err
}

// setup makes the server's side and begins to listen.
func (h *verbsServer) setup(ctx context.Context, cmd *command) (a answer, err error) {
	if h.side != nil || cmd.Case == nil || cmd.Threads < 0 {
		return a, fmt.Errorf("%q twice, or without a case", doSetup)
	}
	c := cmd.Case
	if cmd.Threads == 0 {
		cmd.CPUs, cmd.Threads = placeSelf(c)
	}
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), cmd.Threads+2))
	if c.Kind == kindLimit {
		return a, h.setupLimit(c, cmd.CPUs)
	}
	dev, err := h.providers.Open(c.Fabric)
	if err != nil {
		return a, err
	}
	if h.side, err = newSide(dev, c, server, serverLanes(c, cmd.Threads), h.scale); err != nil {
		return a, err
	}
	h.side.cpus = cmd.CPUs
	if c.Transport == fabric.UD || c.mails() {
		if a.Datagram, err = h.side.makeDatagrams(); err != nil || c.Transport == fabric.UD {
			return a, err
		}
	}
	if h.door, err = host.NewEndpoint(c.Fabric, cmd.Listen, "perf"); err != nil {
		return a, err
	}
	if h.listener, err = dev.Listen(h.door.Addr, fabric.ListenConfig{}); err != nil {
		return a, fmt.Errorf("listening at %v: %w", h.door.Addr, err)
	}
	ctx, h.unlink = context.WithCancel(ctx)
	h.accepted = make(chan error, 1)
	go func() { h.accepted <- h.acceptAll(ctx) }()
	a.Address = h.listener.Addr().String()
	return a, nil
}

func (h *verbsServer) setupLimit(c *Case, cpus []int) (err error) {
	h.memory, err = arena.New().Map("perf limit", limitFD, limitBytes(c), true)
	if err != nil {
		return err
	}
	h.side = &side{c: c, role: server, scale: h.scale, cpus: cpus}
	h.side.progs = []program{limitSide(h.memory.Bytes(), c, server)}
	return nil
}

// acceptAll connects every lane, in the order in which clients come.
func (h *verbsServer) acceptAll(ctx context.Context) error {
	for range h.side.c.lanes() {
		req, err := h.listener.Accept(ctx)
		if err != nil {
			return err
		}
		id, remote, err := parsePrivate(req.Private())
		if err != nil {
			return errors.Join(err, req.Reject([]byte(err.Error())))
		}
		e, l, err := h.side.at(id)
		if err == nil && l.qp != nil {
			err = fmt.Errorf("lane %d is connected already", id)
		}
		if err != nil {
			return errors.Join(err, req.Reject([]byte(err.Error())))
		}
		if err := e.accept(ctx, h.side.c, l, id, req, remote); err != nil {
			return err
		}
	}
	return nil
}

// link waits until every lane is connected, and removes what the connecting
// needed, so that nothing is left behind however the process ends.
func (h *verbsServer) link(ctx context.Context, cmd *command) error {
	if h.side.c.Kind == kindLimit {
		return nil
	}
	if c := h.side.c; c.Transport == fabric.UD || c.mails() {
		if err := h.side.aimDatagrams(ctx, cmd.Datagram); err != nil {
			return err
		}
		if c.Transport == fabric.UD {
			return h.side.prepare()
		}
	}
	err := <-h.accepted
	h.accepted = nil
	err = errors.Join(err, h.closeDoor())
	if err != nil {
		return err
	}
	return h.side.prepare()
}

// closeDoor ends listening and removes the socket file.
func (h *verbsServer) closeDoor() error {
	var errs []error
	if h.unlink != nil {
		h.unlink()
		h.unlink = nil
	}
	if h.accepted != nil {
		<-h.accepted
		h.accepted = nil
	}
	if h.listener != nil {
		errs = append(errs, h.listener.Close())
		h.listener = nil
	}
	errs = append(errs, h.door.Remove())
	return errors.Join(errs...)
}

func (h *verbsServer) close() error {
	var errs []error
	errs = append(errs, h.closeDoor())
	if h.side != nil {
		if h.side.live != nil {
			_, err := h.side.stop()
			errs = append(errs, err)
		}
		errs = append(errs, h.side.close())
	}
	if h.memory != nil {
		errs = append(errs, h.memory.Free())
	}
	return errors.Join(errs...)
}
