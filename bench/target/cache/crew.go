package cache

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/fabric/provider"
)

// crew is the client processes of a trial (C18), here or on other machines.
type crew struct {
	*trial
	members []*member
}

// member is one of them, as this process sees it.
type member struct {
	*host.Peer[bench.Order[part], bench.Answer]
	name string
	away bool // on another machine
}

// muster starts the client processes, and connects them all with the server. What it returns
// is to be closed, also with an error.
func (t *trial) muster(ctx context.Context) (*crew, error) {
	c := &crew{trial: t}
	for i := range t.c.Processes {
		m, err := t.recruit(ctx, i)
		if err != nil {
			return c, err
		}
		c.members = append(c.members, m)
	}
	return c, c.join(ctx)
}

// recruit starts client process i, here or by an agent.
func (t *trial) recruit(ctx context.Context, i int) (*member, error) {
	if len(t.cfg.Agents) == 0 {
		p, err := host.StartPeer[bench.Order[part], bench.Answer](ctx, nil, t.Env.Client)
		return &member{Peer: p, name: fmt.Sprintf("client process %d of %d", i+1, t.c.Processes)}, err
	}
	if t.runID == "" {
		t.runID = rand.Text()
	}
	address, n := t.cfg.Agents[i/t.perAgent()], t.perAgent()
	conn, err := host.DialAgent(ctx, address, host.Controller{Token: t.cfg.Token, Version: t.Env.Version, Run: t.runID})
	if err != nil {
		return nil, err
	}
	name := "agent " + address
	if n > 1 {
		name += fmt.Sprintf(", process %d of %d", i%n+1, n)
	}
	return &member{Peer: host.PeerOver[bench.Order[part], bench.Answer](ctx, conn), name: name, away: true}, nil
}

// perAgent is how many processes each agent has.
func (t *trial) perAgent() int { return t.c.Processes / len(t.cfg.Agents) }

// join connects them all.
func (c *crew) join(ctx context.Context) error {
	one := *c.c
	one.Processes = 0
	answers, err := c.tell(ctx, func(i int) bench.Order[part] {
		p := &part{Case: one, Server: c.server.address(), Seed: c.cfg.Seed, First: i * one.callers(), Of: len(c.members) * one.Clients}
		if len(c.cfg.Agents) != 0 {
			p.Skip = i % c.perAgent() * one.Clients
		}
		return bench.Order[part]{Do: bench.DoSetup, Version: c.Env.Version, Case: p, CPUs: c.cpusOf(i)}
	})
	if err != nil {
		return err
	}
	for i := range answers {
		if w := answers[i].Warning; w != "" {
			c.report.Warn(c.members[i].name + ": " + w)
		}
	}
	return c.server.connected()
}

// cpusOf are those of process i: one for each of its threads, in turn; with goroutines all of
// the client's, which they share; none on other machines.
func (c *crew) cpusOf(i int) []int {
	all, n := c.place.Client, c.c.Clients
	if len(c.cfg.Agents) != 0 {
		return nil
	}
	if c.c.Goroutines != 0 {
		return all
	}
	cpus := host.InTurn(all, (i+1)*n)
	return cpus[len(cpus)*i/(i+1):]
}

// tell gives every process an order and waits for all answers. When one fails, all are
// ended, so that none is waited for in vain.
func (c *crew) tell(ctx context.Context, order func(i int) bench.Order[part]) ([]bench.Answer, error) {
	answers := make([]bench.Answer, len(c.members))
	var wait sync.WaitGroup
	var once sync.Once
	var first error
	for i, m := range c.members {
		wait.Go(func() {
			a, err := m.ask(order(i))
			if answers[i] = a; err != nil {
				once.Do(func() {
					first = err
					_ = c.close()
				})
			}
		})
	}
	wait.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case first != nil:
		return nil, c.Blame(first)
	}
	return answers, nil
}

// tellAll gives all the same order.
func (c *crew) tellAll(ctx context.Context, do string, b *load.Budget) ([]bench.Answer, error) {
	return c.tell(ctx, func(int) bench.Order[part] { return bench.Order[part]{Do: do, Budget: b} })
}

// ask gives one process an order, and says whose failure it is.
func (m *member) ask(o bench.Order[part]) (bench.Answer, error) {
	a, err := m.Ask(o)
	var no host.Refusal
	switch {
	case err == nil:
		return a, nil
	case errors.As(err, &no):
		err = errors.New(no.Text)
	case errors.Is(err, host.ErrGone) && m.away:
		err = fmt.Errorf("connection lost during %s", o.Do)
	}
	return a, m.fault(err)
}

// fault says whose an error is, and whether its end was the cause.
func (m *member) fault(err error) error {
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
		if _, err := c.tellAll(ctx, doLead, &b); err != nil {
			return sum, used, err
		}
	}
	measured, err := c.tellAll(ctx, doMeasure, &b)
	if err != nil {
		return sum, used, err
	}
	rests, err := c.tellAll(ctx, doRest, nil)
	if err != nil {
		return sum, used, err
	}
	reports := make([]*load.Report, len(measured))
	for i := range measured {
		if reports[i] = measured[i].Report; reports[i] == nil || rests[i].Used == nil {
			return sum, used, fmt.Errorf("%s reports nothing", c.members[i].name)
		}
		used.ops += rests[i].Ops
		used.verbs = used.verbs.Plus(rests[i].Used.Verbs)
	}
	sum, err = load.Merge(reports, together, c.Scale)
	return sum, used, err
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

// close ends them all. It may be called again, and at the same time.
func (c *crew) close() error {
	errs := make([]error, len(c.members))
	var wait sync.WaitGroup
	for i, m := range c.members {
		wait.Go(func() {
			if err := m.Close(); err != nil {
				errs[i] = fmt.Errorf("%s: %w", m.name, err)
			}
		})
	}
	wait.Wait()
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
	errs.EachBetween("--processes", c.Processes, 0, maxProcesses)
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

func (c *Config) checkAgents(errs *bench.Faults) {
	if len(c.Agents) == 0 {
		return
	}
	if c.Server == "" {
		errs.Add("--agents are on other machines, which do not reach a server that bench starts: give one with --server")
	}
	for _, a := range c.Agents {
		if _, _, err := net.SplitHostPort(a); err != nil {
			errs.Add("--agents %q: write host:port (%w)", a, err)
		}
	}
	errs.Between("--agents", len(c.Agents), 1, maxProcesses)
}
