package verbs

import (
	"errors"
	"fmt"
	"time"

	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/cycles"
)

// program is what one thread does in a test. It is made and closed by the
// thread that prepares the test and run by a pinned one; the hand-over is
// synchronised (T1).
type program interface {
	// run works until the meter says that it is over.
	run(m *load.Meter) error
	// owner returns the end that the program works on.
	owner() *end
}

const (
	// idleSteps is how often a loop polls completions in vain before it enters
	// a Waiter, memorySteps how often it looks at memory.
	idleSteps   = 200
	memorySteps = 4000
	// lossTimeout is when a transport that may lose messages is taken to have
	// lost those in flight; stallTimeout when one that may not is broken.
	lossTimeout  = 100 * time.Millisecond
	stallTimeout = 10 * time.Second
	// nap bounds one wait, so that the end of a run is noticed.
	nap = 20 * time.Millisecond
	// maxSilent is how many lost windows in a row make an error.
	maxSilent = 50
)

// errLost tells a caller that its messages in flight are taken for lost.
var errLost = errors.New("lost")

// patience is how a program waits for one event after it has looked for it in
// vain a number of times: in the waiter, until the peer must be taken for dead.
type patience struct {
	e     *end
	lossy bool
}

// wait calls step until it reports something. It returns load.ErrStopped, errLost
// or an error that says who did not answer.
func (p *patience) wait(m *load.Meter, step func() bool) error {
	limit := stallTimeout
	if p.lossy {
		limit = lossTimeout
	}
	for waited := time.Duration(0); waited < limit; waited += nap {
		if p.e.waiter.Wait(step, nap) {
			return nil
		}
		if m.Ended() {
			return load.ErrStopped
		}
		if err := p.e.broken(); err != nil {
			return err
		}
	}
	if p.lossy {
		return errLost
	}
	return fmt.Errorf("nothing came from the peer for %v although the connection is up", stallTimeout)
}

// broken says whether a connection of this end is gone.
func (e *end) broken() error {
	for _, l := range e.lanes {
		if l.qp.State() != fabric.StateReady {
			return fmt.Errorf("the connection broke: %w", l.qp.Err())
		}
	}
	return nil
}

// serve calls step until the run is stopped: directly while there is work, in
// the end's waiter when there has been none for a while. A step that fails sets
// err and reports work.
func serve(e *end, m *load.Meter, step func() bool, err *error) error {
	for looked := 1; ; {
		for idle := 0; idle < idleSteps; looked++ {
			idle++
			if step() {
				idle = 0
			}
			if *err != nil || (looked&63 == 0 && m.Ended()) {
				return *err
			}
		}
		if e.waiter.Wait(step, 0) {
			continue
		}
		if m.Ended() {
			return *err
		}
		if err := e.broken(); err != nil {
			return err
		}
	}
}

// timing is how a loop that keeps a window full takes the latency of one message in flight at a
// time, and looks at the clock now and then.
type timing struct {
	seq, start uint64 // of the message whose latency is being taken; 0: none
	next       uint64 // operations at which to take another
	check      uint64 // operations at which to look at the clock
}

// begin begins to time message seq, which is about to be sent, if it is time for one.
func (t *timing) begin(m *load.Meter, seq uint64) {
	if t.seq == 0 && m.Ops >= t.next {
		t.seq, t.start = seq, cycles.Now()
	}
}

// due reports whether take has something to do, now that messages up to got are answered.
func (t *timing) due(m *load.Meter, got uint64) bool { return got > t.seq-1 || m.Ops >= t.check }

// take takes the latency of the message if it is answered, of as many as were in flight, and
// ends the run when its time is over.
func (t *timing) take(m *load.Meter, got, flight uint64) {
	if got > t.seq-1 {
		m.Took(t.start, flight)
		t.seq, t.next = 0, m.Ops+m.Gap()
	}
	if m.Ops >= t.check {
		t.check = m.Ops + clockEvery
		if m.OverAt(cycles.Now()) {
			m.Limit = 0
		}
	}
}
