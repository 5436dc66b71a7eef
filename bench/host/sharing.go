package host

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Sharing says with whom client and server share their CPUs. The zero value is that each has
// CPUs of its own.
type Sharing struct {
	kind  string // "": ShareOwn
	quota int    // percent of one CPU; 0: none
}

// The kinds of sharing. What each means is in the package doc.
const (
	ShareOwn        = "own"
	ShareOne        = "one"
	ShareBusyClient = "busy-client"
	ShareBusyServer = "busy-server"
	ShareBusyBoth   = "busy-both"
	ShareRoaming    = "roaming"
	// These are followed by a percentage, as in quota=50%.
	shareQuota       = "quota"
	shareQuotaClient = "quota-client"
	shareQuotaServer = "quota-server"
)

// Sharings returns all kinds, those with a quota with an example of one.
func Sharings() []string {
	kinds := []string{ShareOwn, ShareOne, ShareBusyClient, ShareBusyServer, ShareBusyBoth, ShareRoaming}
	for _, k := range quotaKinds() {
		kinds = append(kinds, k+"=50%")
	}
	return kinds
}

func quotaKinds() []string { return []string{shareQuota, shareQuotaClient, shareQuotaServer} }

// maxQuota is the largest quota in percent of a CPU: that of a hundred CPUs.
const maxQuota = 100 * 100

// ParseSharing reads a Sharing as String writes it. The sign of a percentage may be left out.
func ParseSharing(s string) (Sharing, error) {
	kind, percent, hasQuota := strings.Cut(s, "=")
	if !hasQuota && slices.Contains(Sharings(), kind) {
		if kind == ShareOwn {
			kind = ""
		}
		return Sharing{kind: kind}, nil
	}
	if !slices.Contains(quotaKinds(), kind) {
		return Sharing{}, fmt.Errorf("placement %q is unknown: use %s", s, strings.Join(Sharings(), ", "))
	}
	n, err := strconv.Atoi(strings.TrimSuffix(percent, "%"))
	if err != nil || n < 1 || n > maxQuota {
		return Sharing{}, fmt.Errorf("placement %q needs a percentage of one CPU from 1%% to %d%%: write %s=50%%", s, maxQuota, kind)
	}
	return Sharing{kind, n}, nil
}

// String implements fmt.Stringer.
func (s Sharing) String() string {
	switch {
	case s.kind == "":
		return ShareOwn
	case s.quota != 0:
		return fmt.Sprintf("%s=%d%%", s.kind, s.quota)
	}
	return s.kind
}

// Own reports whether client and server have CPUs of their own and all of their time.
func (s Sharing) Own() bool { return s == Sharing{} }

// Quotas returns the percentage of one CPU that the client may use, and the server; 0: as much
// as there is.
func (s Sharing) Quotas() (client, server int) {
	if s.kind != shareQuotaServer {
		client = s.quota
	}
	if s.kind != shareQuotaClient {
		server = s.quota
	}
	return client, server
}

// Pins reports whether threads of client and server are pinned to CPUs.
func (s Sharing) Pins() bool { return s.kind != ShareRoaming }

// Place divides cpus, as Split does, among as many client threads and server cores as there
// are to be. What is shared on purpose is no reason for a warning.
func (s Sharing) Place(cpus []int, threads, cores int) Placement {
	return s.Over(Split(cpus, threads, cores), cpus)
}

// Over is Place for those who have divided cpus between client and server themselves.
func (s Sharing) Over(p Placement, cpus []int) Placement {
	switch {
	case len(cpus) == 0:
	case s.kind == ShareOne:
		last := cpus[len(cpus)-1:]
		p = Placement{Client: last, Server: InTurn(last, len(p.Server))}
	case s.kind == ShareRoaming:
		p = Placement{}
	}
	p.Sharing = s
	return p
}

// One reports whether client and server have one CPU for both.
func (s Sharing) One() bool { return s.kind == ShareOne }

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

// Company says for people what keeps CPUs from client and server on purpose; empty where
// nothing does.
func (p *Placement) Company() string {
	each := p.neighbours()
	client, server := p.Sharing.Quotas()
	switch {
	case client != 0 && server != 0:
		return fmt.Sprintf("each with a quota of %d %% of a CPU", client)
	case client != 0:
		return fmt.Sprintf("the client with a quota of %d %% of a CPU", client)
	case server != 0:
		return fmt.Sprintf("the server with a quota of %d %% of a CPU", server)
	case len(each) == 0:
		return ""
	case each[0] == nil:
		return "beside a busy process that is not pinned"
	}
	return "beside a busy loop on " + CPUList(slices.Concat(each...))
}
