package cache

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"

	"github.com/remora-kv/remora/bench/host"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/affinity"
)

// What bench distrusts is numbered in the package doc. Each warning says what to do.

const (
	// nearGenerator is the share of what the generator does alone that a thread may do
	// with a server: beyond it half of the time is the generator's.
	nearGenerator = 0.5
	// saturated and notBusy are the shares of their CPUs at which a client that sleeps
	// when it has nothing to do has none left, and a server has some.
	saturated, notBusy = 0.95, 0.9
)

// doubts warns of what makes a row doubtful that is so of a cache (D2, D6, D7, D12).
func doubts(row *Row, c *Case, p *host.Placement) (all []string) {
	doubt := func(text string) {
		if text != "" {
			all = append(all, text)
		}
	}
	doubt(p.Together(c.threads(), affinity.Core))
	doubt(nearTheGenerator(row, clientThreads(c, *p)))
	if c.sleeps() && p.Sharing.Own() {
		doubt(clientSaturated(row, clientThreads(c, *p)))
	}
	if row.Errors != 0 {
		doubt(fmt.Sprintf("%s refused operations, the first because: %v", row.Path, row.why))
	}
	if row.Misses != 0 && !row.Fill {
		doubt(fmt.Sprintf("%s evicted keys: a get that misses is less work than a hit (--memory, --keys)", row.Path))
	}
	return all
}

// clientThreads is on how many CPUs the client of a case works.
func clientThreads(c *Case, p host.Placement) int {
	have := len(p.Client)
	if have == 0 {
		have = runtime.NumCPU()
	}
	if c.Goroutines != 0 {
		return have
	}
	return min(c.threads(), have)
}

// sleeps reports whether the client sleeps in the kernel while there is nothing to do, so
// that its CPU time says how busy it is.
func (k *Case) sleeps() bool { return !isOurs(k.Path) && k.Path != PathNull && !k.busy() }

func nearTheGenerator(row *Row, threads int) string {
	if row.Generator == 0 || row.OpsPerSec/float64(threads) <= nearGenerator*row.Generator {
		return ""
	}
	return fmt.Sprintf("the generator was the bottleneck of some rows, and not the server: %s did more than %.0f %% of what bench does without a server; use more --clients on CPUs of their own",
		row.Path, 100*nearGenerator)
}

func clientSaturated(row *Row, threads int) string {
	if row.ClientCPU == nil || row.ServerCPU == nil || *row.ClientCPU < 100*saturated*float64(threads) || *row.ServerCPU >= 100*notBusy*float64(row.Cores) {
		return ""
	}
	return fmt.Sprintf("the client was the bottleneck of some rows, and not the server: of %s it had no CPU left, and the server had; use more --clients on CPUs of their own", row.Path)
}

// neighbour warns of a server that was running on this host: its CPUs are not ours to choose.
func neighbour(server string) string {
	if server == "" {
		return ""
	}
	addr, err := fabric.ParseAddr(server)
	if err != nil || addr.Fabric != provider.Shm && !ownAddress(addr.Name) {
		return ""
	}
	return "the server of --server is on this host, and may share CPUs with the clients: keep them apart (remora serve --cpus, and taskset for bench)"
}

// ownAddress reports whether a host, with or without a port, is this one, as far as that is
// known without asking others.
func ownAddress(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	self, _ := os.Hostname()
	if host == "localhost" || host != "" && strings.EqualFold(host, self) {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	if ip == nil {
		return false
	}
	own, _ := net.InterfaceAddrs()
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip) {
			return true
		}
	}
	return ip.IsLoopback() || ip.IsUnspecified()
}
