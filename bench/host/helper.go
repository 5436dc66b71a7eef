package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
)

// helperTask is an order to a helper:
//
//	spin            -> nothing: it keeps one CPU busy until its input ends
//	guard   Groups  -> nothing: it removes these cgroups when its input has ended
type helperTask struct {
	Do     string
	Groups *groupPlan `json:",omitempty"`
}

// Name implements Command.
func (t helperTask) Name() string { return t.Do }

// The commands.
const (
	doSpin  = "spin"
	doGuard = "guard"
)

// helped is the answer of a helper.
type helped struct{}

// Help is a process that a benchmark starts beside those it measures, for what a Placement
// asks for: it obeys the commands on in and answers on out until in ends.
func Help(ctx context.Context, in io.Reader, out io.Writer) error {
	h := &helper{}
	return errors.Join(Obey(ctx, in, out, h.obey), h.end())
}

// helper is the state of a helper between commands.
type helper struct {
	stop atomic.Bool
	spun chan struct{} // closed when the spinning has ended; nil: there was none
	// groups are to be removed; nil: none
	groups *groupPlan
}

func (h *helper) obey(_ context.Context, t *helperTask) (helped, error) {
	switch {
	case t.Do == doGuard && t.Groups != nil:
		h.groups = t.Groups
		return helped{}, nil
	case t.Do != doSpin || h.spun != nil:
		return helped{}, fmt.Errorf("command %q is unknown or repeated: are both processes of the same version?", t.Do)
	}
	h.spun = make(chan struct{})
	begun := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		close(begun)
		for !h.stop.Load() {
		}
		close(h.spun)
	}()
	<-begun
	return helped{}, nil
}

func (h *helper) end() error {
	h.stop.Store(true)
	if h.spun != nil {
		<-h.spun
	}
	if h.groups != nil {
		return h.groups.remove()
	}
	return nil
}
