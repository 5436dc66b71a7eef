package preset

import "github.com/remora-kv/remora/bench/cache"

const protoPaper = "RDMA Cache Prototype: Evaluating RDMA for Distributed Cache Reads and Metadata Updates"

const protoOurs = "TCP is our text protocol, two-sided is sendrecv, one-sided onesided; 1024 keys of 64-byte values, as there."

// protoKeys, protoValue and protoTheta are those of the paper's sweep.
const (
	protoKeys  = 1024
	protoValue = 64
	protoTheta = 0.8
)

func protoPresets() []Preset {
	of := func(name, figure, title, found, ours string, shows []Quantity, points func(Size) []Point) Preset {
		return Preset{Name: name, Paper: protoPaper, Figure: figure, Title: title, Found: found, Ours: ours, X: "clients", Shows: shows, Points: points}
	}
	metadata := "one FETCH_AND_ADD for each read raises the mean from about 4.8 us to 7.8-8.0 us and p99 from 12 us to 15-16 us, and costs 27-36 % of the throughput."
	return []Preset{
		of("proto-table3", "Table 3", "TCP, two-sided (95 % GET, Zipf 0.8) and one-sided (GETs only) over the number of clients",
			"with 8 clients TCP has 72.9, two-sided 403.8 and one-sided 974.3 thousand operations a second; with one 8.9, 117.3 and 160.5.",
			protoOurs, []Quantity{rate(), mean(), p99()}, protoTransports),
		of("proto-fig2", "Figure 2", "TCP, two-sided and one-sided over the number of clients",
			"two-sided has 5.5 to 13.2 times what TCP has; p99 is 132-164 us of TCP, 6-8 us of two-sided and 12 us of one-sided.",
			protoOurs, []Quantity{rate(), p99()}, protoTransports),
		of("proto-fig3", "Figure 3", "what counting each read by an atomic costs", metadata, protoOurs, []Quantity{rate(), mean(), p99()}, protoMetadata),
		of("proto-table4", "Table 4", "latency that one atomic for each read adds",
			"3.0 to 3.2 us in the mean, and 3.0 to 4.0 us at p99.", protoOurs+" The difference of the series is the table.", []Quantity{mean(), p99()}, protoMetadata),
		of("proto-fig4", "Figure 4", "CPU of the server over the number of clients",
			"TCP reaches 60.7 % with 8 clients, two-sided 479 %, for it polls; one-sided stays near idle.",
			protoOurs+" Our server polls while it is asked.", []Quantity{serverCPU()}, protoTransports),
	}
}

func protoTransports(s Size) []Point {
	targets := []target{{"TCP (text)", cache.PathText}, {"two-sided (sendrecv)", cache.PathSendRecv}, {"one-sided (onesided)", cache.PathOneSided}}
	return grid(targets, upTo([]int{1, 2, 4, 8}, s.Clients), func(c *cache.Config, n int) {
		protoLoad(c, n)
		if c.Paths[0] == cache.PathOneSided {
			c.GetPcts = []float64{100}
		}
	})
}

func protoMetadata(s Size) []Point {
	targets := []target{{"one-sided", cache.PathOneSided}, {"with metadata (onesided-faa)", cache.PathOneSidedFAA}}
	return grid(targets, upTo([]int{1, 2, 4, 8}, s.Clients), func(c *cache.Config, n int) {
		protoLoad(c, n)
		c.GetPcts = []float64{100}
	})
}

func protoLoad(c *cache.Config, clients int) {
	c.Keys, c.ValueSizes, c.Clients = protoKeys, []int{protoValue}, []int{clients}
	c.Dists, c.Thetas, c.GetPcts = []string{cache.DistZipf}, []float64{protoTheta}, []float64{95}
}
