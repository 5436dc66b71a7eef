package host

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Sharing says with whom client and server share their CPUs. The zero value is that each has
// CPUs of its own.
type Sharing struct {
	kind string // "": ShareOwn
}

// The kinds of sharing. What each means is in the package doc.
const (
	ShareOwn        = "own"
	ShareOne        = "one"
	ShareBusyClient = "busy-client"
	ShareBusyServer = "busy-server"
	ShareBusyBoth   = "busy-both"
	ShareRoaming    = "roaming"
)

// Sharings returns all kinds.
func Sharings() []string {
	return []string{ShareOwn, ShareOne, ShareBusyClient, ShareBusyServer, ShareBusyBoth, ShareRoaming}
}

// ParseSharing reads a Sharing as String writes it.
func ParseSharing(s string) (Sharing, error) {
	switch {
	case s == ShareOwn:
		return Sharing{}, nil
	case slices.Contains(Sharings(), s):
		return Sharing{s}, nil
	}
	return Sharing{}, fmt.Errorf("placement %q is unknown: use %s", s, strings.Join(Sharings(), ", "))
}

// String implements fmt.Stringer.
func (s Sharing) String() string { return cmp.Or(s.kind, ShareOwn) }

// Own reports whether client and server have CPUs of their own and all of their time.
func (s Sharing) Own() bool { return s == Sharing{} }

// Pins reports whether threads of client and server are pinned to CPUs.
func (s Sharing) Pins() bool { return s.kind != ShareRoaming }

// Place divides cpus, as Split does, among as many client threads and server cores as there
// are to be. What is shared on purpose is no reason for a warning.
func (s Sharing) Place(cpus []int, threads, cores int) Placement {
	p := Split(cpus, threads, cores)
	switch {
	case len(cpus) == 0:
	case s.kind == ShareOne:
		last := cpus[len(cpus)-1:]
		p = Placement{Client: last, Server: InTurn(last, cores)}
	case s.kind == ShareRoaming:
		p = Placement{}
	}
	p.Sharing = s
	return p
}

// confined reports whether whole processes, and not only threads, stay on their CPUs.
func (p *Placement) confined() bool {
	return slices.Contains([]string{ShareOne, ShareBusyClient, ShareBusyServer, ShareBusyBoth}, p.Sharing.kind)
}

// Process returns the only CPUs that the process of the server may use; nil where it may use
// all, and at most its cores are pinned.
func (p *Placement) Process() []int {
	if !p.confined() {
		return nil
	}
	return once(p.Server)
}

// neighbours returns the CPUs of each process that is to be busy beside client and server. One
// without CPUs is moved about by the kernel.
func (p *Placement) neighbours() (each [][]int) {
	var on []int
	switch p.Sharing.kind {
	case ShareBusyClient:
		on = p.Client
	case ShareBusyServer:
		on = p.Server
	case ShareBusyBoth:
		on = slices.Concat(p.Client, p.Server)
	case ShareRoaming:
		return [][]int{nil}
	}
	for _, cpu := range once(on) {
		each = append(each, []int{cpu})
	}
	return each
}

// once returns cpus in ascending order, without repetitions.
func once(cpus []int) []int {
	return slices.Compact(slices.Sorted(slices.Values(cpus)))
}

// Company says for people what else runs on the CPUs on purpose; empty where nothing does.
func (p *Placement) Company() string {
	each := p.neighbours()
	switch {
	case len(each) == 0:
		return ""
	case each[0] == nil:
		return "beside a busy process that is not pinned"
	}
	return "beside a busy loop on " + CPUList(slices.Concat(each...))
}
