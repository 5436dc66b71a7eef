package cache

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"

	"github.com/remora-kv/remora/bench/host"

	"github.com/remora-kv/remora/bench/load"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/affinity"
)

// What bench distrusts is numbered in the package doc. Each warning says what to do.

const (
	// tailSamples is how many samples there must be for a percentile of 99.9: ten
	// beyond it.
	tailSamples = 10_000
	// nearGenerator is the share of what the generator does alone that a thread may do
	// with a server: beyond it half of the time is the generator's.
	nearGenerator = 0.5
	// saturated and notBusy are the shares of their CPUs at which a client that sleeps
	// when it has nothing to do has none left, and a server has some.
	saturated, notBusy = 0.95, 0.9
	// rising is by how much the first third of a trial may be slower than the rest.
	rising = 0.1
	// differing is by how much the trials of a case may differ.
	differing = 0.1
)

// doubt adds what makes a row doubtful, if anything does, to it and to the report.
func (r *runner) doubt(row *Row, s string) {
	if s != "" {
		row.Warnings = append(row.Warnings, s)
		r.report.Warn(s)
	}
}

// distrustMachine looks at what all trials depend on (D3, D4).
func (r *runner) distrustMachine() {
	r.report.Warn(host.LookAtClock(r.scale).Doubt())
	r.watch = host.WatchClock(r.scale)
	if n, err := host.Throttled(r.cpus); err == nil {
		r.throttled = &n
	}
	r.report.Warn(neighbour(r.cfg.Server))
}

// distrustAll looks at what shows in all trials together (D4, D9, D10).
func (r *runner) distrustAll() {
	r.report.Warn(r.watch.Doubt())
	r.report.Warn(r.speeds.Doubt())
	if n, err := host.Throttled(r.cpus); err == nil {
		r.report.Warn(heat(r.throttled, n))
	}
	r.report.Warn(unlike(r.report.Summaries()))
}

// doubts warns of what makes a row doubtful (D2, D5 to D7, D9, D11).
func (r *runner) doubts(row *Row, s *step, p host.Placement) {
	r.doubt(row, p.Together(s.threads(), affinity.Core))
	r.doubt(row, fewSamples(row))
	r.doubt(row, nearTheGenerator(row, clientThreads(&s.Case, p)))
	if s.sleeps() && p.Sharing.Own() {
		r.doubt(row, clientSaturated(row, clientThreads(&s.Case, p)))
	}
	r.doubt(row, stillRising(row))
	r.speeds.Add(r.speedOf(p))
	if row.Errors != 0 {
		r.doubt(row, fmt.Sprintf("%s refused operations, the first because: %v", row.Path, row.why))
	}
	if row.Misses != 0 && !row.Fill {
		r.doubt(row, fmt.Sprintf("%s evicted keys: a get that misses is less work than a hit (--memory, --keys)", row.Path))
	}
}

// speedOf measures how fast the first CPU of the client is; 0: it may not be used.
func (r *runner) speedOf(p host.Placement) float64 {
	measured := make(chan float64, 1)
	go func() { // on a thread that ends with it, mask and all
		defer close(measured)
		if load.PinInTurn(p.Client)(0) == nil {
			measured <- host.Speed(r.scale)
		}
	}()
	return <-measured
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

func fewSamples(row *Row) string {
	if row.Samples >= tailSamples {
		return ""
	}
	return fmt.Sprintf("fewer than %d operations were timed in some rows: their p99.9 rests on a few; measure for longer (--duration)", tailSamples)
}

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

// stillRising looks whether a trial began before its throughput was what it was later. It says
// nothing where that went up and down afterwards, too.
func stillRising(row *Row) string {
	const least = 9 // intervals that can be divided
	if row.Timeline == nil || len(row.Timeline.Ops) < least || row.Rate != 0 {
		return ""
	}
	ops := row.Timeline.Ops
	third := len(ops) / 3
	first, middle, last := mean(ops[:third]), mean(ops[third:2*third]), mean(ops[2*third:])
	low, high := min(middle, last), max(middle, last)
	if low < (1-rising)*high || first >= (1-rising)*low {
		return ""
	}
	return fmt.Sprintf("the warm-up was too short in some trials: their first third was more than %.0f %% slower than what followed (--warmup)", 100*rising)
}

func mean(ops []uint64) (sum float64) {
	for _, n := range ops {
		sum += float64(n)
	}
	return sum / float64(len(ops))
}

// heat warns where CPUs were throttled in the time of a run, after what was counted before it.
func heat(before *int64, after int64) string {
	if before == nil || *before == after {
		return ""
	}
	return fmt.Sprintf("the CPUs were slowed down %d times because of heat: let them cool, or limit their frequency, and measure again", after-*before)
}

// unlike finds the case whose trials differ most, if they differ too much.
func unlike(cases []Summary) string {
	worst := -1
	for i := range cases {
		if s := &cases[i]; s.Trials > 1 && s.spread > differing && (worst < 0 || s.spread > cases[worst].spread) {
			worst = i
		}
	}
	if worst < 0 {
		return ""
	}
	w := &cases[worst]
	which, cure := w.Median.Path+" "+w.Median.Fabric, "use more --trials, longer ones, or a quieter machine"
	if p := w.Median.Placement; p != "" && p != host.ShareOwn {
		which, cure = which+", placement "+p, "sharing CPUs does that: use more --trials, or longer ones"
	}
	return fmt.Sprintf("trials differ by up to %.0f %% (%s): smaller differences between rows say nothing; %s", 100*w.spread, which, cure)
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
