package cpus

// Placement says which CPUs the threads of client and server are pinned to, the
// client's in turn, and what is doubtful about that.
type Placement struct {
	Client, Server []int
	Warning        string
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

// Apart is Split for a server on another host, which finds its own CPUs: the
// client has all of this one.
func Apart(all []int, threads int) Placement {
	if len(all) == 0 {
		return Placement{Warning: Unpinned}
	}
	return Placement{Client: all, Warning: Crowded(ClientThread, threads, len(all))}
}
