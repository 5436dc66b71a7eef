package preset

import (
	"github.com/remora-kv/remora/bench/cache"
	"github.com/remora-kv/remora/bench/perf"
)

const rfpPaper = "RFP: remote fetching paradigm, and Jakiro"

// jakiro are the systems of the paper: RDMA-Memcached is memcached itself here, over a socket.
func jakiro() []target {
	return []target{{"Jakiro (rfp)", cache.PathRFP}, {"ServerReply (reply)", cache.PathReply}, {"memcached", cache.PathMemcached}}
}

const rfpOurs = "RDMA-Memcached is memcached over loopback TCP; clients are threads of one machine."

func rfpPresets() []Preset {
	of := func(name, figure, title, found, ours, x string, shows []Quantity, points func(Size) []Point) Preset {
		return Preset{Name: name, Paper: rfpPaper, Figure: figure, Title: title, Found: found, Ours: ours, X: x, Shows: shows, Points: points}
	}
	return []Preset{
		of("rfp-fig1", "Figure 1", "out-bound WRITE against in-bound READ of one adapter, 32 bytes",
			"in-bound READs peak at 11.26 MOPS, about 5 times what out-bound WRITEs do (2.11 MOPS).",
			"there is no adapter but on rdma: on shm the difference is that of processors.", "client threads", []Quantity{rate()}, rfpFig1),
		of("rfp-fig4", "Figure 4", "throughput over client threads, 32-byte values, uniform, 95 % GET",
			"Jakiro peaks at 5.5 MOPS with 4 server and 35 client threads, ServerReply at 2.1 MOPS, RDMA-Memcached at 1.3 MOPS.",
			rfpOurs+" Figure 4(a), over server threads, is rfrpc-fig7.", "clients", []Quantity{rate()}, rfpFig4),
		of("rfp-fig5", "Figure 5", "latency, 32-byte values, uniform, 95 % GET, at peak throughput",
			"means are 5.78 us (Jakiro), 12.06 us (ServerReply) and 14.76 us (RDMA-Memcached); 99 % of Jakiro's are below 7 us.",
			rfpOurs+" Percentiles stand for the curve.", "clients", []Quantity{mean(), p50(), p95(), p99()}, rfpFig4),
		of("rfp-fig6", "Figure 6", "throughput over the percentage of GETs, 32-byte values, uniform",
			"Jakiro keeps 5.5 MOPS and ServerReply 2.1 MOPS from 95 % to 5 % GET; with 95 % PUT Jakiro has 14 times what RDMA-Memcached has.",
			rfpOurs, "% GET", []Quantity{rate()}, rfpFig6),
		of("rfp-fig7", "Figure 7", "throughput over the value size, fetching 36 bytes at first (RFS), uniform, 95 % GET",
			"Jakiro is ahead from 32 to 1024 bytes; from 64 bytes on a third round trip costs it about 32 %, and at 1024 bytes it has about 3.1 MOPS.",
			rfpOurs+" RFS 36 is --fetch-size 64: our result has a longer header.", "value bytes", []Quantity{rate()}, rfpFig7),
		of("rfp-fig8", "Figure 8", "throughput over the value size, fetching 132 bytes at first (RFS)",
			"32, 64 and 128 bytes all reach about 5.5 MOPS, for they need no third round trip.",
			"RFS 132 is --fetch-size 160: our result has a longer header.", "value bytes", []Quantity{rate()}, rfpFig8),
		of("rfp-fig9", "Figure 9", "throughput over the percentage of GETs, 32-byte values, Zipf .99",
			"Jakiro keeps 5.5 MOPS with 5, 50 and 95 % GET, ServerReply 2.1 MOPS; RDMA-Memcached has about 2.1 MOPS with 95 %.",
			rfpOurs, "% GET", []Quantity{rate()}, rfpFig9),
		of("rfp-fig10", "Figure 10", "throughput over the percentage of GETs, values of a real service (Weibo: 1 to 899 bytes, 43 in the mean), RFS 512",
			"Jakiro peaks at 5.4 MOPS, much above ServerReply and RDMA-Memcached.",
			rfpOurs+" Values have sizes like those of the trace, which is not public.", "% GET", []Quantity{rate()}, rfpFig10),
	}
}

func rfpFig1(s Size) (out []Point) {
	for _, n := range upTo([]int{1, 2, 4, 8}, s.Clients) {
		for _, t := range []struct{ name, test string }{{"in-bound READ", "inbound-read"}, {"out-bound WRITE", "outbound-write"}} {
			out = append(out, Point{Series: t.name, X: itoa(n), work: perfWork(perf.Config{Tests: []string{t.test}, Transport: "rc", Sizes: []int{32}, Threads: n})})
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
		t := []target{{"Jakiro, F " + itoa(f), cache.PathRFP}}
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
