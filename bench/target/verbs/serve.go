package verbs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/arena"
	"github.com/remora-kv/remora/internal/cycles"
)

// limitFD is the descriptor under which a server process inherits the memory
// of the limit test.
const limitFD = 3

// Serve is the server of a test, which Env.Server starts: it obeys the orders on in and
// answers on out until in ends.
func Serve(ctx context.Context, providers bench.Opener, in io.Reader, out io.Writer) error {
	debug.SetGCPercent(-1) // M4
	return bench.Serve(ctx, in, out, &verbsServer{providers: providers, scale: cycles.Calibrate()})
}

// verbsServer is the server between orders.
type verbsServer struct {
	providers bench.Opener
	scale     cycles.Scale
	side      *side
	listener  fabric.Listener
	door      host.Endpoint // removed when all are connected
	accepted  chan error    // the result of accepting all lanes
	memory    *arena.Block  // of the limit test
	unlink    func()        // ends accepting
}

// The orders of a verbsServer, beside those that every server takes:
//
//	link    datagram addresses of the client  -> nothing: all lanes are connected
//	start                                     -> nothing: the programs run
//	run     budget                            -> report, of an outbound test
//	stop                                      -> operations
//	verify  operations that were posted       -> nothing: the memory is right
//
// Setup takes threads, 0 for what its own machine has, and answers with datagram addresses.
const (
	doLink   = "link"
	doStart  = "start"
	doRun    = "run"
	doStop   = "stop"
	doVerify = "verify"
)

// Obey implements bench.Obeyer.
func (h *verbsServer) Obey(ctx context.Context, o *bench.Order[Case]) (a bench.Answer, err error) {
	switch o.Do {
	case doLink:
		return a, h.link(ctx, o.Data)
	case doStart:
		h.side.start(ctx, passive())
		return a, nil
	case doRun:
		if o.Budget == nil {
			return a, fmt.Errorf("%q without a budget", doRun)
		}
		t, err := h.side.run(ctx, *o.Budget)
		if err == nil {
			a.Report = t.Report(h.scale)
		}
		return a, err
	case doStop:
		if h.side.live == nil {
			return a, fmt.Errorf("%q before %q", doStop, doStart)
		}
		t, err := h.side.stop()
		a.Ops = t.Ops
		return a, err
	case doVerify:
		return a, h.side.verify(o.Ops)
	}
	return a, fmt.Errorf("command %q is unknown: are client and server of the same version?", o.Do)
}

// Setup implements bench.Server: it makes the server's side and begins to listen.
func (h *verbsServer) Setup(ctx context.Context, o *bench.Order[Case]) (a bench.Answer, err error) {
	if h.side != nil || o.Threads < 0 {
		return a, fmt.Errorf("a server of %d threads, or a second one", o.Threads)
	}
	c := o.Case
	if o.Threads == 0 {
		o.CPUs, o.Threads = placeSelf(c)
	}
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), o.Threads+2))
	if c.Kind == kindLimit {
		return a, h.setupLimit(c, o.CPUs)
	}
	dev, err := h.providers.Open(c.Fabric)
	if err != nil {
		return a, err
	}
	if h.side, err = newSide(dev, c, server, serverLanes(c, o.Threads), h.scale); err != nil {
		return a, err
	}
	h.side.cpus = o.CPUs
	if c.Transport == fabric.UD || c.mails() {
		if a.Data, err = h.side.makeDatagrams(); err != nil || c.Transport == fabric.UD {
			return a, err
		}
	}
	if h.door, err = host.NewEndpoint(c.Fabric, o.Listen, "verbs"); err != nil {
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
	h.memory, err = arena.New().Map("verbs limit", limitFD, limitBytes(c), true)
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
func (h *verbsServer) link(ctx context.Context, datagrams [][]byte) error {
	if h.side.c.Kind == kindLimit {
		return nil
	}
	if c := h.side.c; c.Transport == fabric.UD || c.mails() {
		if err := h.side.aimDatagrams(ctx, datagrams); err != nil {
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
	if h.unlink != nil {
		h.unlink()
		h.unlink = nil
	}
	if h.accepted != nil {
		<-h.accepted
		h.accepted = nil
	}
	err := bench.Close(h.listener)
	h.listener = nil
	return errors.Join(err, h.door.Remove())
}

// Hide implements bench.Server. The link did so already.
func (h *verbsServer) Hide() error { return h.door.Remove() }

// Counts implements bench.Server. Verbs are not counted: the test says which they are.
func (h *verbsServer) Counts() (load.Verbs, uint64) { return load.Verbs{}, 0 }

// Close implements bench.Server.
func (h *verbsServer) Close() error {
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
