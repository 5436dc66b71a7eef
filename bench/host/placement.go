package host

import "fmt"

// Placement says which CPUs the threads of client and server are pinned to, the
// client's in turn, and what is doubtful about that.
type Placement struct {
	Client, Server []int
	Warning        string
	// Sharing says what else runs there on purpose.
	Sharing Sharing
}

// What is crowded.
const (
	ClientThread = "client thread"
	serverCore   = "server core"
)

// Split shares all, which are on different cores as far as possible, between so
// many threads of a client and cores of a server. The server has the last ones, a
// CPU for each core.
func Split(all []int, threads, cores int) Placement {
	switch len(all) {
	case 0:
		return Placement{Warning: Unpinned}
	case 1:
		return Placement{Client: all, Server: InTurn(all, cores), Warning: OnlyOne(all[0])}
	}
	split := len(all) - min(cores, max(len(all)-max(threads, 1), 1))
	p := Placement{Client: all[:split], Server: InTurn(all[split:], cores), Warning: Crowded(ClientThread, threads, split)}
	if p.Warning == "" {
		p.Warning = Crowded(serverCore, cores, len(all)-split)
	}
	return p
}

// Together is the warning where one of the first so many CPUs of the client and one of the
// server's are on the same core, as core names them; empty where they are not. That they are
// the same CPU is in Warning already.
func (p *Placement) Together(threads int, core func(cpu int) int) string {
	for _, c := range p.Client[:min(max(threads, 1), len(p.Client))] {
		for _, s := range p.Server {
			if c != s && core(c) == core(s) {
				return fmt.Sprintf("client and server share a core: CPUs %d and %d are hyper-threads of one, and slow each other down; use fewer --clients or --cores, or CPUs of different cores (taskset)", c, s)
			}
		}
	}
	return ""
}

// Apart is Split for a server on another host, which finds its own CPUs: the
// client has all of this one.
func Apart(all []int, threads int) Placement {
	if len(all) == 0 {
		return Placement{Warning: Unpinned}
	}
	return Placement{Client: all, Warning: Crowded(ClientThread, threads, len(all))}
}
