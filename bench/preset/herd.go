package preset

import (
	"fmt"
	"runtime"
	"strconv"

	"github.com/remora-kv/remora/bench/cache"
	"github.com/remora-kv/remora/bench/figures"
)

const herdPaper = "HERD: Using RDMA Efficiently for Key-Value Services (SIGCOMM 2014)"

// herdSystems are those of the comparisons. Ours are whole caches, where the paper's Pilaf and
// FaRM are emulated without their data structures.
func herdSystems() []target {
	return []target{
		{"HERD", cache.PathHerd}, {"Pilaf (pilaf)", cache.PathPilaf}, {"FaRM (farm)", cache.PathFarm}, {"FaRM-VAR (farm-var)", cache.PathFarmVar},
	}
}

// herdWindow is the default of the paper.
const herdWindow = 4

const herdOurs = "Pilaf and FaRM are whole here, with checks of what was read, and not emulated; PUTs go as messages; window 4."

func herdPresets() []Preset {
	of := func(name, figure, title, found, ours, x string, shows []Quantity, points func(Size) []Point) Preset {
		return Preset{Name: name, Paper: herdPaper, Figure: figure, Title: title, Found: found, Ours: ours, X: x, Shows: shows, Points: points}
	}
	var out []Preset
	for _, f := range figures.Plan(runtime.NumCPU()) {
		shows := []Quantity{rate()}
		if f.Y == figures.Latency {
			shows = []Quantity{p50()}
		}
		out = append(out, of(fmt.Sprintf("herd-fig%d", f.Number), fmt.Sprintf("Figure %d", f.Number), f.Title, f.Paper,
			f.About+" `remora bench figure herd-verbs` draws it.", f.XLabel, shows, verbPoints(f)))
	}
	return append(out,
		of("herd-fig9", "Figure 9", "throughput for 48-byte items (16-byte keys, 32-byte values) by the share of GETs",
			"HERD has about 18.5 Mops whatever the mix; GETs: Pilaf-em-OPT 7.5, FaRM-em 9.2, FaRM-em-VAR 7.5 Mops.",
			herdOurs, "% GET", []Quantity{rate()}, herdFig9),
		of("herd-fig10", "Figure 10", "throughput over the value size, 16-byte keys, 95 % GET",
			"HERD has over 19.8 Mops up to 32-byte items; FaRM-em falls quickly, as its READs are of 6 (SV + 16) bytes; large values are within 10 %.",
			herdOurs, "value bytes", []Quantity{rate()}, herdFig10),
		of("herd-fig11", "Figure 11", "latency over the load: more clients until the server is saturated, 95 % GET",
			"HERD has 18 million requests a second at about 10 us; FaRM-em's latency is the lowest, FaRM-em-VAR's is above HERD's.",
			herdOurs, "clients", []Quantity{rate(), mean(), p95()}, herdFig11),
		of("herd-fig12", "Figure 12", "throughput over the number of clients, windows 4 and 16",
			"HERD keeps its maximum up to 260 client processes; then it falls, with a window of 16 less steeply.",
			"clients are threads, as many as this machine bears.", "clients", []Quantity{rate()}, herdFig12),
		of("herd-fig13", "Figure 13", "throughput over server cores, 48-byte items",
			"HERD has its 18.5 Mops with 10 cores; Pilaf-em-OPT needs 9 for PUTs alone.",
			"Pilaf's series is 100 % PUT, as in the paper, HERD's 95 % GET.", "server cores", []Quantity{rate()}, herdFig13),
	)
}

func itoa(n int) string { return strconv.Itoa(n) }

// verbPoints are those of a figure that perf measures.
func verbPoints(f figures.Figure) func(Size) []Point {
	return func(Size) (out []Point) {
		for _, p := range f.Points {
			x := strconv.FormatFloat(p.X, 'g', -1, 64)
			if f.Bars {
				x = p.Group
			}
			out = append(out, Point{Series: p.Series, X: x, work: perfWork(p.Config)})
		}
		return out
	}
}

func herdFig9(Size) []Point {
	return grid(herdSystems(), []float64{95, 50, 0}, func(c *cache.Config, pct float64) {
		c.GetPcts, c.Windows = []float64{pct}, []int{herdWindow}
	})
}

func herdFig10(Size) []Point {
	return grid(herdSystems(), []int{4, 8, 16, 32, 64, 128, 256, 512, 1000}, func(c *cache.Config, n int) {
		c.ValueSizes, c.Windows = []int{n}, []int{herdWindow}
	})
}

func herdFig11(s Size) []Point {
	return grid(herdSystems(), upTo([]int{1, 2, 4, 8, 16, 32, 51}, s.Clients), func(c *cache.Config, n int) {
		c.Clients, c.Windows, c.Cores = []int{n}, []int{herdWindow}, min(10, s.Cores)
	})
}

func herdFig12(s Size) (out []Point) {
	for _, w := range []int{4, 16} {
		t := []target{{"window " + itoa(w), cache.PathHerd}}
		out = append(out, grid(t, upTo([]int{1, 2, 4, 8, 16, 32, 64, 128, 256}, s.Clients), func(c *cache.Config, n int) {
			c.Clients, c.Windows, c.Cores = []int{n}, []int{w}, min(6, s.Cores)
		})...)
	}
	return out
}

func herdFig13(s Size) (out []Point) {
	for i, t := range []target{{"HERD", cache.PathHerd}, {"Pilaf, PUTs", cache.PathPilaf}} {
		out = append(out, grid([]target{t}, upTo([]int{1, 2, 4, 6, 8, 10}, s.Cores), func(c *cache.Config, n int) {
			c.Cores, c.Clients, c.Windows, c.GetPcts = n, []int{s.Clients}, []int{herdWindow}, []float64{[]float64{95, 0}[i]}
		})...)
	}
	return out
}
