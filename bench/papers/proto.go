package papers

import "github.com/remora-kv/remora/bench/target/cache"

const protoPaper = "RDMA Cache Prototype: Evaluating RDMA for Distributed Cache Reads and Metadata Updates"

const protoOurs = "TCP is our text protocol, two-sided is sendrecv, one-sided onesided; 1024 keys of 64-byte values, as there."

// protoKeys, protoValue and protoTheta are those of the paper's sweep.
const (
	protoKeys  = 1024
	protoValue = 64
	protoTheta = 0.8
)

func protoFigures() []Figure {
	metadata := "one FETCH_AND_ADD for each read raises the mean from about 4.8 us to 7.8-8.0 us and p99 from 12 us to 15-16 us, and costs 27-36 % of the throughput."
	return []Figure{
		{
			Name: "proto-table3", Number: "Table 3",
			Title: "TCP, two-sided (95 % GET, Zipf 0.8) and one-sided (GETs only) over the number of clients",
			Found: "with 8 clients TCP has 72.9, two-sided 403.8 and one-sided 974.3 thousand operations a second; with one 8.9, 117.3 and 160.5.",
			Ours:  protoOurs,
			X:     "clients", Shows: []Quantity{rate, mean, p99},
			Authors: []Found{{rate, "TCP (text)", 8.9e3, []string{"1"}}, {rate, "TCP (text)", 72.9e3, []string{"8"}}, {rate, "two-sided (sendrecv)", 117.3e3, []string{"1"}}, {rate, "two-sided (sendrecv)", 403.8e3, []string{"8"}}, {rate, "one-sided (onesided)", 160.5e3, []string{"1"}}, {rate, "one-sided (onesided)", 974.3e3, []string{"8"}}},
			Points:  protoTransports,
		},
		{
			Name: "proto-fig2", Number: "Figure 2",
			Title: "TCP, two-sided and one-sided over the number of clients",
			Found: "two-sided has 5.5 to 13.2 times what TCP has; p99 is 132-164 us of TCP, 6-8 us of two-sided and 12 us of one-sided.",
			Ours:  protoOurs,
			X:     "clients", Shows: []Quantity{rate, p99},
			Points: protoTransports,
		},
		{
			Name: "proto-fig3", Number: "Figure 3",
			Title: "what counting each read by an atomic costs",
			Found: metadata,
			Ours:  protoOurs,
			X:     "clients", Shows: []Quantity{rate, mean, p99},
			Points: protoMetadata,
		},
		{
			Name: "proto-table4", Number: "Table 4",
			Title: "latency that one atomic for each read adds",
			Found: "3.0 to 3.2 us in the mean, and 3.0 to 4.0 us at p99.",
			Ours:  protoOurs + " The difference of the series is the table.",
			X:     "clients", Shows: []Quantity{mean, p99},
			Points: protoMetadata,
		},
		{
			Name: "proto-fig4", Number: "Figure 4",
			Title: "CPU of the server over the number of clients",
			Found: "TCP reaches 60.7 % with 8 clients, two-sided 479 %, for it polls; one-sided stays near idle.",
			Ours:  protoOurs + " Our server polls while it is asked.",
			X:     "clients", Shows: []Quantity{serverCPU},
			Authors: []Found{{serverCPU, "TCP (text)", 60.7, []string{"8"}}, {serverCPU, "two-sided (sendrecv)", 479, []string{"8"}}},
			Points:  protoTransports,
		},
	}
}

func protoTransports(s Size) []Point {
	targets := []system{{"TCP (text)", cache.PathText}, {"two-sided (sendrecv)", cache.PathSendRecv}, {"one-sided (onesided)", cache.PathOneSided}}
	return grid(targets, upTo([]int{1, 2, 4, 8}, s.Clients), func(c *cache.Config, n int) {
		protoLoad(c, n)
		if c.Paths[0] == cache.PathOneSided {
			c.GetPcts = []float64{100}
		}
	})
}

func protoMetadata(s Size) []Point {
	targets := []system{{"one-sided", cache.PathOneSided}, {"with metadata (onesided-faa)", cache.PathOneSidedFAA}}
	return grid(targets, upTo([]int{1, 2, 4, 8}, s.Clients), func(c *cache.Config, n int) {
		protoLoad(c, n)
		c.GetPcts = []float64{100}
	})
}

func protoLoad(c *cache.Config, clients int) {
	c.Keys, c.ValueSizes, c.Clients = protoKeys, []int{protoValue}, []int{clients}
	c.Dists, c.Thetas, c.GetPcts = []string{cache.DistZipf}, []float64{protoTheta}, []float64{95}
}
