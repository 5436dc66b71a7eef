package papers

import (
	"time"

	"github.com/remora-kv/remora/bench/target/cache"
	"github.com/remora-kv/remora/bench/target/calls"
)

const rfrpcPaper = "RF-RPC (TPDS, DOI 10.1109/TPDS.2018.2889718)"

func rfrpcFigures() []Figure {
	return []Figure{
		{
			Name: "rfrpc-fig7", Number: "Fig. 7",
			Title: "throughput over server threads, 32-byte values",
			Found: "Jakiro has 5.5 MOPS from 2 server threads on, 158 % above ServerReply (2.1 MOPS, falling beyond 6 threads) and 310 % above RDMA-Memcached (1.3 MOPS).",
			Ours:  rfpOurs,
			X:     "server cores", Shows: []Quantity{rate},
			Authors: []Found{{rate, "Jakiro (rfp)", 5.5e6, []string{"2", "4", "6", "8", "10", "12", "14", "16"}}},
			Points:  rfrpcFig7,
		},
		{
			Name: "rfrpc-fig8", Number: "Fig. 8",
			Title: "latency, 32-byte values, uniform, 95 % GET",
			Found: "means are 5.78 us (Jakiro), 12.06 us (ServerReply) and 14.76 us (RDMA-Memcached); ServerReply's 15th percentile is lower than Jakiro's.",
			Ours:  rfpOurs + " Percentiles stand for the curve.",
			X:     "clients", Shows: []Quantity{mean, p50, p95, p99},
			Points: rfpFig4,
		},
		{
			Name: "rfrpc-fig9", Number: "Fig. 9",
			Title: "throughput over the process time of a request, 1 to 12 us",
			Found: "below 7 us Jakiro has 30 to 320 % more than ServerReply; from there on it switches to replies and both are alike.",
			Ours:  "calls without a cache (bench rpc), one connection.",
			X:     "process us", Shows: []Quantity{rate},
			Points: rfrpcFig9,
		},
		{
			Name: "rfrpc-fig10", Number: "Fig. 10",
			Title: "what inlining and leaving out signals bring",
			Found: "nearly 30 % together, of RDMA-Write and of RF-RPC, and leaving out signals more than inlining.",
			Ours:  "calls without a cache (bench rpc), window 4.",
			X:     "optimisations", Shows: []Quantity{rate, mean},
			Points: rfrpcFig10,
		},
		{
			Name: "rfrpc-fig13", Number: "Fig. 13",
			Title: "throughput and latency over the batch size, 2 to 96",
			Found: "RF-RPC-batch reaches 62.7 MOPS; at a batch of 24 it has 45.80 MOPS at 12.63 us, where server-reply-batch has 21.67 MOPS.",
			Ours:  "key-value operations of one client over one connection; the automatic batch size is measured by bench rpc --limit.",
			X:     "batch", Shows: []Quantity{rate, mean},
			Authors: []Found{{rate, "RF-RPC-batch (rfp)", 45.8e6, []string{"24"}}, {rate, "server-reply-batch (reply)", 21.67e6, []string{"24"}}, {mean, "RF-RPC-batch (rfp)", 12.63, []string{"24"}}},
			Points:  rfrpcFig13,
		},
		{
			Name: "rfrpc-fig14", Number: "Fig. 14",
			Title: "latency over the batch size",
			Found: "it grows linearly, and that of server-reply-batch is 18 to 100 % above that of RF-RPC-batch.",
			Ours:  "as rfrpc-fig13.",
			X:     "batch", Shows: []Quantity{mean, p99},
			Points: rfrpcFig13,
		},
		{
			Name: "rfrpc-fig15", Number: "Fig. 15",
			Title: "throughput and latency over the batch size, Zipf .99",
			Found: "skew does not change the results of Fig. 13 much.",
			Ours:  "as rfrpc-fig13.",
			X:     "batch", Shows: []Quantity{rate, mean},
			Points: rfrpcFig15,
		},
		{
			Name: "rfrpc-table3", Number: "Table 3",
			Title: "throughput without batches and with batches of 16, 4 server cores, 95 % GET",
			Found: "on ConnectX-3 1.66 (ServerReply) and 3.05 MOPS (Jakiro) without batches, 10.1 and 12.3 with; on ConnectX-4 2.26, 4.48, 16.7 and 22.6.",
			Ours:  "server cores as there are, one client.",
			X:     "batch", Shows: []Quantity{rate, mean},
			Authors: []Found{{rate, "ServerReply", 1.66e6, []string{"1"}}, {rate, "Jakiro", 3.05e6, []string{"1"}}, {rate, "ServerReply", 10.1e6, []string{"16"}}, {rate, "Jakiro", 12.3e6, []string{"16"}}},
			Points:  rfrpcTable3,
		},
	}
}

func rfrpcFig7(s Size) []Point {
	return grid(jakiro(), upTo([]int{1, 2, 4, 6, 8, 10, 12, 14, 16}, s.Cores), func(c *cache.Config, n int) {
		c.Cores, c.Clients = n, []int{min(35, s.Clients)}
	})
}

func rfrpcFig9(Size) []Point {
	paths := []system{{"Jakiro (rfp)", calls.PathRFP}, {"ServerReply (reply)", calls.PathReply}, {"Jakiro w/o switch (fetch)", calls.PathFetch}}
	return callPoints(paths, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, func(c *calls.Config, us int) {
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
			c := calls.Config{Paths: []string{calls.PathFetch}, Windows: []int{4}, Batches: []int{batch}, NoInline: v.noInline, SignalAll: v.signalAll}
			out = append(out, Point{Series: name, X: v.x, work: callWork(c)})
		}
	}
	return out
}

// batched are the systems of Figures 13 to 15.
func batched() []system {
	return []system{{"RF-RPC-batch (rfp)", cache.PathRFP}, {"server-reply-batch (reply)", cache.PathReply}}
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
	return grid([]system{{"ServerReply", cache.PathReply}, {"Jakiro", cache.PathRFP}}, []int{1, 16}, func(c *cache.Config, n int) {
		c.Batches, c.Cores = []int{n}, min(4, s.Cores)
	})
}
