package preset

import (
	"time"

	"github.com/remora-kv/remora/bench/cache"
	"github.com/remora-kv/remora/bench/call"
)

const rfrpcPaper = "RF-RPC (TPDS, DOI 10.1109/TPDS.2018.2889718)"

func rfrpcPresets() []Preset {
	of := func(name, figure, title, found, ours, x string, shows []Quantity, points func(Size) []Point) Preset {
		return Preset{Name: name, Paper: rfrpcPaper, Figure: figure, Title: title, Found: found, Ours: ours, X: x, Shows: shows, Points: points}
	}
	return []Preset{
		of("rfrpc-fig7", "Fig. 7", "throughput over server threads, 32-byte values",
			"Jakiro has 5.5 MOPS from 2 server threads on, 158 % above ServerReply (2.1 MOPS, falling beyond 6 threads) and 310 % above RDMA-Memcached (1.3 MOPS).",
			rfpOurs, "server cores", []Quantity{rate()}, rfrpcFig7),
		of("rfrpc-fig8", "Fig. 8", "latency, 32-byte values, uniform, 95 % GET",
			"means are 5.78 us (Jakiro), 12.06 us (ServerReply) and 14.76 us (RDMA-Memcached); ServerReply's 15th percentile is lower than Jakiro's.",
			rfpOurs+" Percentiles stand for the curve.", "clients", []Quantity{mean(), p50(), p95(), p99()}, rfpFig4),
		of("rfrpc-fig9", "Fig. 9", "throughput over the process time of a request, 1 to 12 us",
			"below 7 us Jakiro has 30 to 320 % more than ServerReply; from there on it switches to replies and both are alike.",
			"calls without a cache (bench rpc), one connection.", "process us", []Quantity{rate()}, rfrpcFig9),
		of("rfrpc-fig10", "Fig. 10", "what inlining and leaving out signals bring",
			"nearly 30 % together, of RDMA-Write and of RF-RPC, and leaving out signals more than inlining.",
			"calls without a cache (bench rpc), window 4.", "optimisations", []Quantity{rate(), mean()}, rfrpcFig10),
		of("rfrpc-fig13", "Fig. 13", "throughput and latency over the batch size, 2 to 96",
			"RF-RPC-batch reaches 62.7 MOPS; at a batch of 24 it has 45.80 MOPS at 12.63 us, where server-reply-batch has 21.67 MOPS.",
			"key-value operations of one client over one connection; the automatic batch size is measured by bench rpc --limit.", "batch", []Quantity{rate(), mean()}, rfrpcFig13),
		of("rfrpc-fig14", "Fig. 14", "latency over the batch size",
			"it grows linearly, and that of server-reply-batch is 18 to 100 % above that of RF-RPC-batch.",
			"as rfrpc-fig13.", "batch", []Quantity{mean(), p99()}, rfrpcFig13),
		of("rfrpc-fig15", "Fig. 15", "throughput and latency over the batch size, Zipf .99",
			"skew does not change the results of Fig. 13 much.",
			"as rfrpc-fig13.", "batch", []Quantity{rate(), mean()}, rfrpcFig15),
		of("rfrpc-table3", "Table 3", "throughput without batches and with batches of 16, 4 server cores, 95 % GET",
			"on ConnectX-3 1.66 (ServerReply) and 3.05 MOPS (Jakiro) without batches, 10.1 and 12.3 with; on ConnectX-4 2.26, 4.48, 16.7 and 22.6.",
			"server cores as there are, one client.", "batch", []Quantity{rate(), mean()}, rfrpcTable3),
	}
}

func rfrpcFig7(s Size) []Point {
	return grid(jakiro(), upTo([]int{1, 2, 4, 6, 8, 10, 12, 14, 16}, s.Cores), func(c *cache.Config, n int) {
		c.Cores, c.Clients = n, []int{min(35, s.Clients)}
	})
}

func rfrpcFig9(Size) []Point {
	paths := []target{{"Jakiro (rfp)", call.PathRFP}, {"ServerReply (reply)", call.PathReply}, {"Jakiro w/o switch (fetch)", call.PathFetch}}
	return calls(paths, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, func(c *call.Config, us int) {
		c.ProcessTimes = []time.Duration{time.Duration(us) * time.Microsecond}
	})
}

func rfrpcFig10(Size) (out []Point) {
	for _, v := range []struct {
		x                   string
		noInline, signalAll bool
	}{{"none", true, true}, {"inline", false, true}, {"unsignal", true, false}, {"both", false, false}} {
		for _, batch := range []int{1, 16} {
			name := "RF-RPC"
			if batch > 1 {
				name = "RF-RPC-batch"
			}
			c := call.Config{Paths: []string{call.PathFetch}, Windows: []int{4}, Batches: []int{batch}, NoInline: v.noInline, SignalAll: v.signalAll}
			out = append(out, Point{Series: name, X: v.x, work: callWork(c)})
		}
	}
	return out
}

// batched are the systems of Figures 13 to 15.
func batched() []target {
	return []target{{"RF-RPC-batch (rfp)", cache.PathRFP}, {"server-reply-batch (reply)", cache.PathReply}}
}

func rfrpcFig13(Size) []Point {
	return grid(batched(), []int{1, 2, 4, 8, 16, 24, 32, 64, 96}, func(c *cache.Config, n int) { c.Batches = []int{n} })
}

func rfrpcFig15(Size) []Point {
	return grid(batched(), []int{1, 2, 4, 8, 16, 24, 32, 64, 96}, func(c *cache.Config, n int) {
		c.Batches, c.Dists, c.Thetas = []int{n}, []string{cache.DistZipf}, []float64{0.99}
	})
}

func rfrpcTable3(s Size) []Point {
	return grid([]target{{"ServerReply", cache.PathReply}, {"Jakiro", cache.PathRFP}}, []int{1, 16}, func(c *cache.Config, n int) {
		c.Batches, c.Cores = []int{n}, min(4, s.Cores)
	})
}
