package verbs

import (
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/fabric"
)

// placement says which CPUs the threads of a case are pinned to, in turn.
type placement struct {
	host.Placement
	serverThreads int
}

// place shares all CPUs, which are on different cores as far as possible, between
// the client and the server of a case. A side that does nothing (its memory is the
// target) needs no CPU of its own when the other has more threads than would be
// left.
func place(c *Case, all []int) placement {
	busy := c.Threads // threads of the client that work
	if c.Kind == kindOutbound && c.Op != fabric.OpSend {
		busy = 0
	}
	if len(all) < 2 {
		return placement{host.Split(all, busy, 1), serverThreads(c, 1)}
	}
	if who, n := posting(c); c.Op != fabric.OpSend && n > len(all)-1 {
		return placement{
			host.Placement{Client: all, Server: all, Warning: host.Crowded(who, n, len(all))},
			serverThreads(c, len(all)),
		}
	}
	forServer := min(max(len(all)/2, len(all)-busy), c.lanes(), len(all)-1)
	if c.Kind == kindLimit || (c.Kind == kindOutbound && c.QPs == 1) {
		forServer = 1
	}
	split := len(all) - forServer
	return placement{
		host.Placement{Client: all[:split], Server: all[split:], Warning: host.Crowded(host.ClientThread, busy, split)},
		serverThreads(c, forServer),
	}
}

// placeShared is place for what the CPUs of a case are shared with. Where client and server
// have one CPU, the server has the threads that it has on one.
func placeShared(c *Case, all []int) placement {
	s, own := c.sharing(), all
	if s.One() && len(all) != 0 {
		own = all[len(all)-1:]
	}
	p := place(c, own)
	p.Placement = s.Over(p.Placement, all)
	if !s.Own() {
		p.Client = p.Client[:min(len(p.Client), c.Threads)] // the others are not used, and need no neighbour
	}
	return p
}

// posting says which threads post the operations of a verb test, and how many.
func posting(c *Case) (who string, n int) {
	switch c.Kind {
	case kindInbound:
		return host.ClientThread, c.Threads
	case kindOutbound:
		return "server thread", c.QPs // of a mesh; else one
	default:
		return "", 0
	}
}

// placeApart is place for a server on another host: the client has all CPUs of
// this one, and the server finds its own (placement without threads for it).
func placeApart(c *Case, all []int) placement { return placement{host.Apart(all, c.Threads), 0} }

// placeSelf is what a server does whose client does not know this host.
func placeSelf(c *Case) (own []int, threads int) {
	own = host.CPUs()
	return own, serverThreads(c, len(own))
}

// serverThreads is how many ends the server has on n CPUs.
func serverThreads(c *Case, n int) int {
	switch {
	case c.QPs > 1:
		return c.QPs // all-to-all: as many as the client has threads
	case c.Kind == kindOutbound:
		return 1
	}
	return max(min(n, c.lanes()), 1)
}
