package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/load"
)

// Order is an order to the server process of a case C, or to one of its client processes:
//
//	setup  Case, CPUs, where to listen  -> address, what it holds
//	       (Apart: the server takes the CPUs of its own machine)
//	hide                                -> nothing: all clients are connected, so its
//	                                       socket file has done its duty
//	count                               -> what was used until now
//
// A server that is an Obeyer takes others, too.
type Order[C any] struct {
	Do      string
	Case    *C     `json:",omitempty"`
	CPUs    []int  `json:",omitempty"`
	Apart   bool   `json:",omitempty"`
	Listen  string `json:",omitempty"`
	Version string `json:",omitempty"`

	// Of further orders.
	Threads int          `json:",omitempty"`
	Data    [][]byte     `json:",omitempty"`
	Budget  *load.Budget `json:",omitempty"`
	Ops     uint64       `json:",omitempty"`
}

// Name implements host.Command.
func (o Order[C]) Name() string { return o.Do }

// The orders that all servers take.
const (
	DoSetup = "setup" // sets up a server or, of a client process, its connections
	doHide  = "hide"
	doCount = "count"
)

// Answer is what the server process says to an order.
type Answer struct {
	Address string `json:",omitempty"`
	Items   int64  `json:",omitempty"`
	Used    *Used  `json:",omitempty"`

	// Warning is what is doubtful about its CPUs, where it has found those itself.
	Warning string `json:",omitempty"`

	// To further orders.
	Data   [][]byte     `json:",omitempty"`
	Report *load.Report `json:",omitempty"`
	Ops    uint64       `json:",omitempty"`
}

// Used is what a server process has used since it began.
type Used struct {
	Time  time.Duration // by its own clock
	CPU   time.Duration
	Verbs load.Verbs
	Lost  uint64 // clients that it cut off, or that vanished
}

// Server is the server of a case, in the server process.
type Server[C any] interface {
	// Setup starts it, once.
	Setup(ctx context.Context, o *Order[C]) (Answer, error)
	// Hide removes its socket file.
	Hide() error
	// Counts returns the verbs that it posted, and how many clients it lost.
	Counts() (load.Verbs, uint64)
	// Close ends it, also when Setup failed or was never called.
	Close() error
}

// Obeyer is a Server that takes further orders.
type Obeyer[C any] interface {
	Obey(ctx context.Context, o *Order[C]) (Answer, error)
}

// Serve is the server process: it obeys the orders on in and answers on out until in ends.
func Serve[C any](ctx context.Context, in io.Reader, out io.Writer, s Server[C]) error {
	o := &obedient[C]{server: s, start: time.Now()}
	return errors.Join(host.Obey(ctx, in, out, o.obey), s.Close())
}

// obedient is a server between orders.
type obedient[C any] struct {
	server Server[C]
	start  time.Time
	up     bool
}

func (s *obedient[C]) obey(ctx context.Context, o *Order[C]) (a Answer, err error) {
	switch {
	case o.Do == DoSetup && (s.up || o.Case == nil):
		return a, fmt.Errorf("%q twice, or without a case", DoSetup)
	case o.Do == DoSetup:
		a, err = s.server.Setup(ctx, o)
		s.up = err == nil
		return a, err
	case !s.up:
		return a, fmt.Errorf("%q before %q", o.Do, DoSetup)
	case o.Do == doHide:
		return a, s.server.Hide()
	case o.Do == doCount:
		a.Used, err = s.count()
		return a, err
	}
	if more, ok := s.server.(Obeyer[C]); ok {
		return more.Obey(ctx, o)
	}
	return a, fmt.Errorf("command %q is unknown: are client and server of the same version?", o.Do)
}

// count says what was used until now.
func (s *obedient[C]) count() (*Used, error) {
	cpu, err := host.ProcessTime()
	if err != nil {
		return nil, err
	}
	u := &Used{Time: time.Since(s.start), CPU: cpu}
	u.Verbs, u.Lost = s.server.Counts()
	return u, nil
}

// Peer is the server process of a case, as its client sees it.
type Peer[C any] struct{ *host.Peer[Order[C], Answer] }

// StartPeer starts the server process of a case on the CPUs of a placement, with files as its
// descriptors from 3 on; where here is not nil, here is the server instead, in this process.
// It is set up by o, of which Do, CPUs and Version are filled in.
func StartPeer[C, R any](ctx context.Context, env *Env[R], place *host.Placement, here Server[C], o Order[C], files ...*os.File) (p *Peer[C], a Answer, err error) {
	p = &Peer[C]{}
	if here != nil {
		p.Peer = host.GoPeer[Order[C], Answer](ctx, func(ctx context.Context, in io.Reader, out io.Writer) error {
			return Serve(ctx, in, out, here)
		})
	} else if p.Peer, err = host.StartPeer[Order[C], Answer](ctx, place.Process(), env.Server, files...); err != nil {
		return nil, a, err
	}
	o.Do, o.CPUs, o.Version = DoSetup, place.Server, env.Version
	a, err = p.Ask(o)
	return p, a, err
}

// Hide has the socket file removed: all clients are connected, and nothing is left behind
// however the processes end.
func (p *Peer[C]) Hide() error {
	_, err := p.Ask(Order[C]{Do: doHide})
	return err
}

// Count returns what the server has used until now.
func (p *Peer[C]) Count() (Used, error) {
	a, err := p.Ask(Order[C]{Do: doCount})
	if err == nil && a.Used == nil {
		err = fmt.Errorf("the server does not answer %q: are client and server of the same version?", doCount)
	}
	if err != nil {
		return Used{}, err
	}
	return *a.Used, nil
}

// Counters turns what the server has used into Counters, with the verbs of this side. On loop
// its CPU time is that of this process, and nobody knows its own.
func (u *Used) Counters(verbs load.Verbs, loop bool) Counters {
	k := Counters{Verbs: u.Verbs.Plus(verbs)}
	if !loop {
		k.Server, k.ServerTime = &u.CPU, u.Time
	}
	return k
}
