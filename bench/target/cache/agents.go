package cache

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"

	"github.com/remora-kv/remora/bench/host"

	"github.com/remora-kv/remora/bench"
)

// Agent is what ServeAgent needs.
type Agent struct {
	// Token is what controllers must know; it may be empty on loopback addresses.
	Token   string
	Version string
	// Client is the command line of a process that calls Drive, and ClientEnv what is added
	// to its environment.
	Client, ClientEnv []string
	// Log, when not nil, is told who comes and goes.
	Log func(text string)
}

// ServeAgent starts client processes for those who measure from another machine, and connect
// to l, until ctx ends (C19). It closes l.
func ServeAgent(ctx context.Context, l net.Listener, a Agent) error {
	return host.ServeAgent(ctx, l, host.AgentConfig{Token: a.Token, Version: a.Version, Command: a.Client, Env: a.ClientEnv, Log: a.Log})
}

// ErrOpenAgent is wrapped where an agent would obey everybody who can reach it.
var ErrOpenAgent = host.ErrOpenAgent

// dialAgent has one more client process started by the agent that member i has.
func (t *trial) dialAgent(ctx context.Context, i int) (*crewMember, error) {
	if t.runID == "" {
		t.runID = rand.Text()
	}
	address := t.cfg.Agents[i/t.perAgent()]
	conn, err := host.DialAgent(ctx, address, host.Controller{Token: t.cfg.Token, Version: t.Env.Version, Run: t.runID})
	if err != nil {
		return nil, err
	}
	name := "agent " + address
	if n := t.perAgent(); n > 1 {
		name += fmt.Sprintf(", process %d of %d", i%n+1, n)
	}
	return &crewMember{Peer: host.PeerOver[task, deed](ctx, conn), name: name, away: true}, nil
}

// perAgent is how many processes each agent has.
func (t *trial) perAgent() int { return t.c.Processes / len(t.cfg.Agents) }

// away says on which CPUs of another machine a process is: those behind the ones of the
// processes before it.
func (c *crew) away(i int) (skip int) {
	if len(c.cfg.Agents) == 0 {
		return 0
	}
	return i % c.perAgent() * c.c.Clients
}

// ownPlace is where the threads of a client process are that finds its own CPUs.
func ownPlace(c *Case, skip int) host.Placement {
	all := host.CPUs()
	if len(all) == 0 || c.Goroutines != 0 {
		return host.Apart(all, 1)
	}
	place := host.Apart(all, skip%len(all)+c.Clients)
	place.Client = append(append([]int(nil), all[skip%len(all):]...), all[:skip%len(all)]...)
	return place
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
