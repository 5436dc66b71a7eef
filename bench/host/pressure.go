package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Pressure is what a Placement puts on the CPUs of a trial: busy neighbours, and limits of the
// server and of this process, which is the client. It lasts from Press until Close.
type Pressure struct {
	neighbours []*Peer[helperTask, helped]
	release    func() error // of this process; nil: it is not confined
	groups     *groups      // of those with quotas; nil: there are none
}

// Press begins what a placement asks for, of a server by its process id. argv is the command
// line of a process that calls Help; it ends with ctx.
func Press(ctx context.Context, p *Placement, server int, argv []string) (_ *Pressure, err error) {
	x := &Pressure{}
	defer func() {
		if err != nil {
			err = fmt.Errorf("placement %v: %w", p.Sharing, errors.Join(err, x.Close()))
		}
	}()
	for _, cpus := range p.neighbours() {
		n, err := StartPeer[helperTask, helped](ctx, cpus, argv)
		if err != nil {
			return x, err
		}
		x.neighbours = append(x.neighbours, n)
		if _, err := n.Ask(helperTask{Do: doSpin}); err != nil {
			return x, err
		}
	}
	if p.confined() && len(p.Client) != 0 {
		if x.release, err = confine(p.Client); err != nil {
			return x, err
		}
	}
	if client, most := p.Sharing.Quotas(); client != 0 || most != 0 {
		x.groups, err = limit(ctx, map[int]int{os.Getpid(): client, server: most}, argv)
	}
	return x, err
}

// CPU returns what the neighbours have used until now.
func (x *Pressure) CPU() (sum time.Duration, err error) {
	for _, n := range x.neighbours {
		used, err := n.CPU()
		if err != nil {
			return 0, err
		}
		sum += used
	}
	return sum, nil
}

// Close ends it, and waits until the neighbours are gone.
func (x *Pressure) Close() error {
	var errs []error
	if x.release != nil {
		errs = append(errs, x.release())
		x.release = nil
	}
	if x.groups != nil {
		errs = append(errs, x.groups.close())
		x.groups = nil
	}
	for _, n := range x.neighbours {
		errs = append(errs, n.Close())
	}
	x.neighbours = nil
	return errors.Join(errs...)
}
