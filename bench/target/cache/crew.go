package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/remora-kv/remora/bench/host"

	"github.com/remora-kv/remora/bench/load"

	"github.com/remora-kv/remora/bench"

	"github.com/remora-kv/remora/fabric/provider"
)

// crew is the client processes of a trial (C18), here or on other machines.
type crew struct {
	*trial
	members []*crewMember
}

// crewMember is one of them, as this process sees it.
type crewMember struct {
	*host.Peer[task, deed]
	name string
	away bool // on another machine
	once sync.Once
	left error // of its end
}

// muster starts the client processes, and connects them all with the server.
func (t *trial) muster(ctx context.Context) (*crew, error) {
	c := &crew{trial: t}
	n := t.c.Processes
	for i := range n {
		m, err := t.recruit(ctx, i, n)
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		c.members = append(c.members, m)
	}
	if err := c.join(ctx); err != nil {
		_ = c.close() // that it failed is known
		return nil, err
	}
	return c, nil
}

// recruit starts client process i of n, here or by an agent.
func (t *trial) recruit(ctx context.Context, i, n int) (*crewMember, error) {
	if len(t.cfg.Agents) != 0 {
		return t.dialAgent(ctx, i)
	}
	p, err := host.StartPeer[task, deed](ctx, t.Env.Client, t.Env.ClientEnv)
	if err != nil {
		return nil, err
	}
	return &crewMember{Peer: p, name: fmt.Sprintf("client process %d of %d", i+1, n)}, nil
}

// join connects them all.
func (c *crew) join(ctx context.Context) error {
	one := *c.c
	one.Processes = 0
	deeds, err := c.tell(ctx, func(i int) task {
		return task{
			Do: doJoin, Version: c.Env.Version, Case: &one, Server: c.server.address(), Seed: c.cfg.Seed, CPUs: c.cpusOf(i),
			Skip: c.away(i), First: i * one.callers(), Of: len(c.members) * one.Clients,
		}
	})
	if err != nil {
		return err
	}
	for i := range deeds {
		if w := deeds[i].Warning; w != "" {
			c.report.Warn(c.members[i].name + ": " + w)
		}
	}
	return c.server.connected()
}

// cpusOf are those of process i: one for each of its threads, in turn; with goroutines all of
// the client's, which they share.
func (c *crew) cpusOf(i int) []int {
	all := c.place.Client
	if len(c.cfg.Agents) != 0 {
		return nil
	}
	if len(all) == 0 || c.c.Goroutines != 0 {
		return all
	}
	var out []int
	for k := range c.c.Clients {
		out = append(out, all[(i*c.c.Clients+k)%len(all)])
	}
	return out
}

// tell gives every process a command and waits for all answers. When one fails, all are
// ended, so that none is waited for in vain.
func (c *crew) tell(ctx context.Context, cmd func(i int) task) ([]deed, error) {
	type answer struct {
		i    int
		deed deed
		err  error
	}
	answers := make(chan answer, len(c.members))
	for i, m := range c.members {
		go func() {
			d, err := m.ask(cmd(i))
			answers <- answer{i, d, err}
		}()
	}
	deeds := make([]deed, len(c.members))
	var first error
	for range c.members {
		a := <-answers
		deeds[a.i] = a.deed
		if a.err != nil && first == nil {
			first = a.err
			go func() { _ = c.close() }()
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case first != nil:
		return nil, c.explain(ctx, first)
	}
	return deeds, nil
}

// same is a command that is the same for all.
func same(cmd task) func(int) task { return func(int) task { return cmd } }

// ask gives one process a command, and says whose failure it is.
func (m *crewMember) ask(cmd task) (deed, error) {
	d, err := m.Peer.Ask(cmd)
	var no host.Refusal
	switch {
	case err == nil:
		return d, nil
	case errors.As(err, &no):
		return d, fmt.Errorf("%s: %s", m.name, no.Text)
	case errors.Is(err, host.ErrGone) && m.away:
		return d, fmt.Errorf("%s: connection lost during %s", m.name, cmd.Do)
	}
	return d, m.fault(err)
}

// fault says whose an error is, and whether its end was the cause.
func (m *crewMember) fault(err error) error {
	if errors.Is(err, host.ErrGone) {
		return fmt.Errorf("%s ended early: %w", m.name, err)
	}
	return fmt.Errorf("%s: %w", m.name, err)
}

// work lets all work, and measures while they do; with a number of operations each does
// just those.
func (c *crew) work(ctx context.Context, b load.Budget) (sum load.Tally, used effort, err error) {
	together := b.Ops == 0
	if together {
		if _, err := c.tell(ctx, same(task{Do: doLead, Budget: &b})); err != nil {
			return sum, used, err
		}
	}
	deeds, err := c.tell(ctx, same(task{Do: doMeasure, Budget: &b}))
	if err != nil {
		return sum, used, err
	}
	rests, err := c.tell(ctx, same(task{Do: doRest}))
	if err != nil {
		return sum, used, err
	}
	for i := range rests {
		used.ops += rests[i].Ops
		used.verbs = used.verbs.Plus(rests[i].Verbs)
	}
	sum, err = c.merge(deeds, together)
	return sum, used, err
}

func (c *crew) merge(deeds []deed, together bool) (load.Tally, error) {
	reports := make([]*load.Report, len(deeds))
	for i := range deeds {
		if reports[i] = deeds[i].Report; reports[i] == nil {
			return load.Tally{}, fmt.Errorf("%s reports nothing", c.members[i].name)
		}
	}
	return load.Merge(reports, together, c.Scale)
}

// cpu is what the processes have used until now; those of other machines count nothing here.
func (c *crew) cpu() (sum time.Duration, err error) {
	for _, m := range c.members {
		if m.Pid() == 0 {
			continue
		}
		used, err := m.CPU()
		if err != nil {
			return 0, m.fault(err)
		}
		sum += used
	}
	return sum, nil
}

func (c *crew) close() error {
	var wait sync.WaitGroup
	for _, m := range c.members {
		wait.Go(func() { m.once.Do(func() { m.left = m.Close() }) })
	}
	wait.Wait()
	var errs []error
	for _, m := range c.members {
		if m.left != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.name, m.left))
		}
	}
	return errors.Join(errs...)
}

// number is that of a worker among those of all processes.
func (r *runner) number(i int) int { return r.first + i }

// clients is how many threads or clients all processes have, of whom this one has so many.
func (r *runner) clients(here int) int { return max(r.of, here) }

// procs is how many threads of a client process run Go code at the same time.
func procs(c *Case, place host.Placement) int {
	if c.Goroutines != 0 {
		return cmp.Or(len(place.Client), runtime.NumCPU())
	}
	return c.Clients + 2
}

func (c *Config) checkProcesses(errs *bench.Faults) {
	for _, n := range c.Processes {
		errs.Between("--processes", n, 0, maxProcesses)
	}
	some := slices.ContainsFunc(c.Processes, func(n int) bool { return n != 0 })
	if some && c.Server == "" && slices.Contains(c.Fabrics, provider.Loop) && slices.ContainsFunc(c.Paths, isOurs) {
		errs.Add("--processes cannot reach a server on %s, which is inside this process: use another --fabric", provider.Loop)
	}
}

// mixOf is the operations of a case, among those of all processes.
func (r *runner) mixOf(c *Case) load.Mix {
	m := c.mix(r.cfg.Seed)
	m.Workers = max(m.Workers, r.of*max(c.Goroutines, 1))
	return m
}
