package verbs

import (
	"context"
	"errors"
	"fmt"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/cycles"
)

// side is all that one process does in a case: its device, its ends and the
// programs on them, each with a CPU.
type side struct {
	c     *Case
	role  role
	scale cycles.Scale
	dev   fabric.Device
	ends  []*end
	progs []program // those that run; an end that is only a target has none
	cpus  []int     // of the programs, in turn; none: not pinned
	table *lookups  // of a server that looks things up
	live  *live
}

// live is a run under way.
type live struct {
	*load.Running
	calm func() // waits until nobody wakes its programs any more
}

// newSide makes the ends of one process. lanes says how many queue pairs each
// end has.
func newSide(dev fabric.Device, c *Case, r role, lanes []int, scale cycles.Scale) (*side, error) {
	s := &side{c: c, role: r, dev: dev, scale: scale}
	for _, n := range lanes {
		e, err := newEnd(dev, c, r, n)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.ends = append(s.ends, e)
	}
	if r == server && c.Accesses > 0 {
		var err error
		if s.table, err = newLookups(c.Table, c.Accesses); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

// clientLanes is one end for each thread of the client.
func clientLanes(c *Case) []int {
	lanes := make([]int, c.Threads)
	for i := range lanes {
		lanes[i] = c.QPs
	}
	return lanes
}

// serverLanes is one end for each thread of the server, which share the lanes.
func serverLanes(c *Case, threads int) []int {
	lanes := make([]int, min(threads, c.lanes()))
	for id := range c.lanes() {
		lanes[id%len(lanes)]++
	}
	return lanes
}

// at returns the end and lane that have number id of all.
func (s *side) at(id int) (*end, *lane, error) {
	if id < 0 || id >= s.c.lanes() {
		return nil, nil, fmt.Errorf("the peer names lane %d of %d", id, s.c.lanes())
	}
	if s.role == client {
		e := s.ends[id/s.c.QPs]
		return e, e.lanes[id%s.c.QPs], nil
	}
	e := s.ends[id%len(s.ends)]
	return e, e.lanes[id/len(s.ends)], nil
}

// makeDatagrams makes the queue pairs of all lanes and returns their addresses.
func (s *side) makeDatagrams() ([][]byte, error) {
	addrs := make([][]byte, s.c.lanes())
	for id := range addrs {
		e, l, err := s.at(id)
		if err != nil {
			return nil, err
		}
		qp, err := e.makeDatagram(s.c, l)
		if err != nil {
			return nil, err
		}
		addrs[id] = qp.Address()
	}
	return addrs, nil
}

// aimDatagrams makes the peer's lanes the destinations of this side's.
func (s *side) aimDatagrams(ctx context.Context, addrs [][]byte) error {
	if len(addrs) != s.c.lanes() {
		return fmt.Errorf("the peer gave %d datagram addresses for %d lanes", len(addrs), s.c.lanes())
	}
	for id, addr := range addrs {
		e, l, err := s.at(id)
		if err != nil {
			return err
		}
		if l.to, err = e.domain.NewAddressHandle(ctx, addr); err != nil {
			return fmt.Errorf("datagram address of the peer: %w", err)
		}
	}
	return nil
}

// prepare makes the programs when all lanes are connected, and posts the first
// receives.
func (s *side) prepare() error {
	for _, e := range s.ends {
		p, err := s.newProgram(e)
		if err != nil {
			return err
		}
		if p != nil {
			s.progs = append(s.progs, p)
		}
	}
	return nil
}

// newProgram makes what an end does; nil when it is only a target.
func (s *side) newProgram(e *end) (program, error) {
	switch c, r := s.c, s.role; {
	case (c.Kind == kindEcho || c.Kind == kindIdle) && r == client:
		return newCaller(e, c)
	case c.Kind == kindEcho || c.Kind == kindIdle:
		return newResponder(e, c, s.table)
	case (c.Kind == kindInbound) == (r == client):
		return newPump(e, c), nil
	case c.Op == fabric.OpSend:
		return newSink(e)
	}
	return nil, nil
}

// worker is a program on a thread of its own.
type worker struct{ program }

// Run implements load.Worker.
func (w worker) Run(_ context.Context, m *load.Meter) error {
	return load.OnThread(m, func() error {
		err := w.run(m)
		if errors.Is(err, load.ErrStopped) && !m.Stopped() {
			return nil // it was told to end, or its time was over, while it waited
		}
		return err
	})
}

// passive is the budget of a side that reacts until it is stopped.
func passive() load.Budget { return load.Budget{Time: load.Forever} }

// start runs all programs until stop, or until each has used up its budget.
func (s *side) start(ctx context.Context, b load.Budget) {
	var workers []load.Worker
	for _, p := range s.progs {
		workers = append(workers, worker{p})
	}
	run := &live{Running: load.Start(ctx, workers, b, s.scale, load.PinInTurn(s.cpus))}
	halted := make(chan struct{})
	going := context.AfterFunc(ctx, func() {
		run.halt(s.progs)
		close(halted)
	})
	run.calm = func() {
		if !going() {
			<-halted
		}
	}
	s.live = run
}

// finish waits for the programs and returns what they did.
func (s *side) finish() (load.Tally, error) {
	run := s.live
	s.live = nil
	defer run.calm()
	return run.Wait()
}

// halt tells the programs to end. It may be called from any goroutine while the
// run is live.
func (r *live) halt(progs []program) {
	r.End()
	for _, p := range progs {
		if e := p.owner(); e != nil {
			e.waiter.Wake()
		}
	}
}

// stop ends the programs and returns what they did.
func (s *side) stop() (load.Tally, error) {
	s.live.halt(s.progs)
	return s.finish()
}

// run runs the programs to the end of their budget, or until ctx is done.
func (s *side) run(ctx context.Context, b load.Budget) (load.Tally, error) {
	s.start(ctx, b)
	return s.finish()
}

// verify checks the memory of a verb test after its last run: ops is how many
// operations were posted to it in all.
func (s *side) verify(ops uint64) error {
	var sum uint64
	for _, e := range s.ends {
		for _, l := range e.lanes {
			switch {
			case (s.role == client) == (s.c.Kind == kindInbound) && s.c.Op == fabric.OpRead:
				if err := checkPattern(e.slots, l.local.Bytes(), e.shape.ring); err != nil {
					return err
				}
			case l.shared == nil || s.c.Kind == kindEcho || s.c.Kind == kindIdle:
			case s.c.Op == fabric.OpWrite:
				if err := checkPattern(e.slots, l.shared.Bytes(), e.shape.shared); err != nil {
					return err
				}
			case s.c.Op == fabric.OpFetchAdd:
				sum += sumWords(e.slots, l.shared.Bytes(), e.shape.shared)
			}
		}
	}
	if s.c.Op == fabric.OpFetchAdd && s.role == server && sum != ops {
		return fmt.Errorf("the server's words add up to %d after %d FETCH_ADD", sum, ops)
	}
	return nil
}

// close releases the ends and the device.
func (s *side) close() error {
	var errs []error
	for _, e := range s.ends {
		errs = append(errs, e.close())
	}
	s.ends = nil
	if s.table != nil {
		errs = append(errs, s.table.close())
		s.table = nil
	}
	errs = append(errs, bench.Close(s.dev))
	s.dev = nil
	return errors.Join(errs...)
}
