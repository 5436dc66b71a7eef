package papers

import (
	"github.com/remora-kv/remora/bench/target/cache"
	"github.com/remora-kv/remora/bench/target/verbs"
)

const rfpPaper = "RFP: remote fetching paradigm, and Jakiro"

// jakiro are the systems of the paper: RDMA-Memcached is memcached itself here, over a socket.
func jakiro() []system {
	return []system{{"Jakiro (rfp)", cache.PathRFP}, {"ServerReply (reply)", cache.PathReply}, {"memcached", cache.PathMemcached}}
}

const rfpOurs = "RDMA-Memcached is memcached over loopback TCP; clients are threads of one machine."

func rfpFigures() []Figure {
	return []Figure{
		{
			Name: "rfp-fig1", Number: "Figure 1",
			Title: "out-bound WRITE against in-bound READ of one adapter, 32 bytes",
			Found: "in-bound READs peak at 11.26 MOPS, about 5 times what out-bound WRITEs do (2.11 MOPS).",
			Ours:  "there is no adapter but on rdma: on shm the difference is that of processors.",
			X:     "client threads", Shows: []Quantity{rate},
			Points: rfpFig1,
		},
		{
			Name: "rfp-fig4", Number: "Figure 4",
			Title: "throughput over client threads, 32-byte values, uniform, 95 % GET",
			Found: "Jakiro peaks at 5.5 MOPS with 4 server and 35 client threads, ServerReply at 2.1 MOPS, RDMA-Memcached at 1.3 MOPS.",
			Ours:  rfpOurs + " Figure 4(a), over server threads, is rfrpc-fig7.",
			X:     "clients", Shows: []Quantity{rate},
			Authors: []Found{{rate, "Jakiro (rfp)", 5.5e6, []string{"35"}}},
			Points:  rfpFig4,
		},
		{
			Name: "rfp-fig5", Number: "Figure 5",
			Title: "latency, 32-byte values, uniform, 95 % GET, at peak throughput",
			Found: "means are 5.78 us (Jakiro), 12.06 us (ServerReply) and 14.76 us (RDMA-Memcached); 99 % of Jakiro's are below 7 us.",
			Ours:  rfpOurs + " Percentiles stand for the curve.",
			X:     "clients", Shows: []Quantity{mean, p50, p95, p99},
			Points: rfpFig4,
		},
		{
			Name: "rfp-fig6", Number: "Figure 6",
			Title: "throughput over the percentage of GETs, 32-byte values, uniform",
			Found: "Jakiro keeps 5.5 MOPS and ServerReply 2.1 MOPS from 95 % to 5 % GET; with 95 % PUT Jakiro has 14 times what RDMA-Memcached has.",
			Ours:  rfpOurs,
			X:     "% GET", Shows: []Quantity{rate},
			Authors: []Found{{rate, "Jakiro (rfp)", 5.5e6, []string{"95", "50", "5"}}, {rate, "ServerReply (reply)", 2.1e6, []string{"95", "50", "5"}}},
			Points:  rfpFig6,
		},
		{
			Name: "rfp-fig7", Number: "Figure 7",
			Title: "throughput over the value size, fetching 36 bytes at first (RFS), uniform, 95 % GET",
			Found: "Jakiro is ahead from 32 to 1024 bytes; from 64 bytes on a third round trip costs it about 32 %, and at 1024 bytes it has about 3.1 MOPS.",
			Ours:  rfpOurs + " RFS 36 is --fetch-size 64: our result has a longer header.",
			X:     "value bytes", Shows: []Quantity{rate},
			Authors: []Found{{rate, "Jakiro (rfp)", 3.1e6, []string{"1024"}}},
			Points:  rfpFig7,
		},
		{
			Name: "rfp-fig8", Number: "Figure 8",
			Title: "throughput over the value size, fetching 132 bytes at first (RFS)",
			Found: "32, 64 and 128 bytes all reach about 5.5 MOPS, for they need no third round trip.",
			Ours:  "RFS 132 is --fetch-size 160: our result has a longer header.",
			X:     "value bytes", Shows: []Quantity{rate},
			Authors: []Found{{rate, "Jakiro, F 160", 5.5e6, []string{"32", "64", "128"}}},
			Points:  rfpFig8,
		},
		{
			Name: "rfp-fig9", Number: "Figure 9",
			Title: "throughput over the percentage of GETs, 32-byte values, Zipf .99",
			Found: "Jakiro keeps 5.5 MOPS with 5, 50 and 95 % GET, ServerReply 2.1 MOPS; RDMA-Memcached has about 2.1 MOPS with 95 %.",
			Ours:  rfpOurs,
			X:     "% GET", Shows: []Quantity{rate},
			Authors: []Found{{rate, "Jakiro (rfp)", 5.5e6, []string{"95", "50", "5"}}, {rate, "ServerReply (reply)", 2.1e6, []string{"95", "50", "5"}}, {rate, "memcached", 2.1e6, []string{"95"}}},
			Points:  rfpFig9,
		},
		{
			Name: "rfp-fig10", Number: "Figure 10",
			Title: "throughput over the percentage of GETs, values of a real service (Weibo: 1 to 899 bytes, 43 in the mean), RFS 512",
			Found: "Jakiro peaks at 5.4 MOPS, much above ServerReply and RDMA-Memcached.",
			Ours:  rfpOurs + " Values have sizes like those of the trace, which is not public.",
			X:     "% GET", Shows: []Quantity{rate},
			Points: rfpFig10,
		},
	}
}

func rfpFig1(s Size) (out []Point) {
	for _, n := range upTo([]int{1, 2, 4, 8}, s.Clients) {
		for _, t := range []struct{ name, test string }{{"in-bound READ", "inbound-read"}, {"out-bound WRITE", "outbound-write"}} {
			out = append(out, Point{Series: t.name, X: itoa(n), work: verbsWork(verbs.Config{Tests: []string{t.test}, Transport: "rc", Sizes: []int{32}, Threads: n})})
		}
	}
	return out
}

func rfpFig4(s Size) []Point {
	return grid(jakiro(), upTo([]int{1, 2, 4, 7, 14, 21, 28, 35}, s.Clients), func(c *cache.Config, n int) {
		c.Clients, c.Cores = []int{n}, min(4, s.Cores)
	})
}

func rfpFig6(s Size) []Point {
	return grid(jakiro(), []float64{95, 50, 5}, func(c *cache.Config, pct float64) { c.GetPcts, c.Cores = []float64{pct}, min(4, s.Cores) })
}

// smallF and largeF are the first READs of Figures 7 and 8: they bring values of 32 and of
// 128 bytes whole, as the paper's 36 and 132 bytes do.
const smallF, largeF = 64, 160

func rfpFig7(s Size) []Point {
	return grid(jakiro(), []int{32, 64, 128, 256, 512, 1024}, func(c *cache.Config, n int) {
		c.ValueSizes, c.FetchSize, c.Cores = []int{n}, smallF, min(4, s.Cores)
	})
}

func rfpFig8(s Size) (out []Point) {
	for _, f := range []int{smallF, largeF} {
		t := []system{{"Jakiro, F " + itoa(f), cache.PathRFP}}
		out = append(out, grid(t, []int{32, 64, 128, 256}, func(c *cache.Config, n int) {
			c.ValueSizes, c.FetchSize, c.Cores = []int{n}, f, min(4, s.Cores)
		})...)
	}
	return out
}

func rfpFig9(s Size) []Point {
	return grid(jakiro(), []float64{95, 50, 5}, func(c *cache.Config, pct float64) {
		c.GetPcts, c.Dists, c.Thetas, c.Cores = []float64{pct}, []string{cache.DistZipf}, []float64{0.99}, min(4, s.Cores)
	})
}

func rfpFig10(s Size) []Point {
	return grid(jakiro(), []float64{95, 50, 5}, func(c *cache.Config, pct float64) {
		c.GetPcts, c.ValueDists, c.FetchSize, c.Cores = []float64{pct}, []string{"weibo"}, 512, min(4, s.Cores)
	})
}
