package papers

import (
	"runtime"
	"strconv"

	"github.com/remora-kv/remora/bench/target/cache"
)

const herdPaper = "HERD: Using RDMA Efficiently for Key-Value Services (SIGCOMM 2014)"

// herdSystems are those of the comparisons. Ours are whole caches, where the paper's Pilaf and
// FaRM are emulated without their data structures.
func herdSystems() []system {
	return []system{
		{"HERD", cache.PathHerd}, {"Pilaf (pilaf)", cache.PathPilaf}, {"FaRM (farm)", cache.PathFarm}, {"FaRM-VAR (farm-var)", cache.PathFarmVar},
	}
}

// herdWindow is the default of the paper.
const herdWindow = 4

const herdOurs = "Pilaf and FaRM are whole here, with checks of what was read, and not emulated; PUTs go as messages; window 4."

func herdFigures() []Figure {
	return append(herdVerbs(runtime.NumCPU()), []Figure{
		{
			Name: "herd-fig9", Number: "Figure 9",
			Title: "throughput for 48-byte items (16-byte keys, 32-byte values) by the share of GETs",
			Found: "HERD has about 18.5 Mops whatever the mix; GETs: Pilaf-em-OPT 7.5, FaRM-em 9.2, FaRM-em-VAR 7.5 Mops.",
			Ours:  herdOurs,
			X:     "% GET", Shows: []Quantity{rate},
			Authors: []Found{{rate, "HERD", 18.5e6, []string{"95", "50", "0"}}},
			Points:  herdFig9,
		},
		{
			Name: "herd-fig10", Number: "Figure 10",
			Title: "throughput over the value size, 16-byte keys, 95 % GET",
			Found: "HERD has over 19.8 Mops up to 32-byte items; FaRM-em falls quickly, as its READs are of 6 (SV + 16) bytes; large values are within 10 %.",
			Ours:  herdOurs,
			X:     "value bytes", Shows: []Quantity{rate},
			Authors: []Found{{rate, "HERD", 19.8e6, []string{"4", "8", "16"}}},
			Points:  herdFig10,
		},
		{
			Name: "herd-fig11", Number: "Figure 11",
			Title: "latency over the load: more clients until the server is saturated, 95 % GET",
			Found: "HERD has 18 million requests a second at about 10 us; FaRM-em's latency is the lowest, FaRM-em-VAR's is above HERD's.",
			Ours:  herdOurs,
			X:     "clients", Shows: []Quantity{rate, mean, p95},
			Points: herdFig11,
		},
		{
			Name: "herd-fig12", Number: "Figure 12",
			Title: "throughput over the number of clients, windows 4 and 16",
			Found: "HERD keeps its maximum up to 260 client processes; then it falls, with a window of 16 less steeply.",
			Ours:  "clients are threads, as many as this machine bears.",
			X:     "clients", Shows: []Quantity{rate},
			Points: herdFig12,
		},
		{
			Name: "herd-fig13", Number: "Figure 13",
			Title: "throughput over server cores, 48-byte items",
			Found: "HERD has its 18.5 Mops with 10 cores; Pilaf-em-OPT needs 9 for PUTs alone.",
			Ours:  "Pilaf's series is 100 % PUT, as in the paper, HERD's 95 % GET.",
			X:     "server cores", Shows: []Quantity{rate},
			Authors: []Found{{rate, "HERD", 18.5e6, []string{"10"}}},
			Points:  herdFig13,
		},
	}...)
}

func itoa(n int) string { return strconv.Itoa(n) }

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
		t := []system{{"window " + itoa(w), cache.PathHerd}}
		out = append(out, grid(t, upTo([]int{1, 2, 4, 8, 16, 32, 64, 128, 256}, s.Clients), func(c *cache.Config, n int) {
			c.Clients, c.Windows, c.Cores = []int{n}, []int{w}, min(6, s.Cores)
		})...)
	}
	return out
}

func herdFig13(s Size) (out []Point) {
	for i, t := range []system{{"HERD", cache.PathHerd}, {"Pilaf, PUTs", cache.PathPilaf}} {
		out = append(out, grid([]system{t}, upTo([]int{1, 2, 4, 6, 8, 10}, s.Cores), func(c *cache.Config, n int) {
			c.Cores, c.Clients, c.Windows, c.GetPcts = n, []int{s.Clients}, []int{herdWindow}, []float64{[]float64{95, 0}[i]}
		})...)
	}
	return out
}
