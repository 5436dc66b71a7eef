package papers

import (
	"fmt"
	"strconv"

	"github.com/remora-kv/remora/bench/target/verbs"
)

// The parameters of the figures. HERD's sizes begin at 4 bytes; the sequence
// number of an echo has 8.
var (
	sizes    = []int{8, 16, 32, 64, 128, 256, 512, 1024}
	meshes   = []int{1, 2, 4, 8, 16}
	accesses = []int{1, 2, 4, 6, 8}
)

const (
	echoSize   = 32
	echoWindow = 16
	// searchWindow is larger than any search has accesses, or the pipeline of the
	// server would never be full.
	searchWindow = 32
)

// herdVerbs are Figures 2 to 7, for a machine whose CPUs client and server share.
func herdVerbs(cpus int) []Figure {
	return []Figure{latency(), inbound(), outbound(), echo(), allToAll(), prefetch(cpus)}
}

// verbsPoint is a point that bench verbs measures.
func verbsPoint(series, x string, c verbs.Config) Point {
	return Point{Series: series, X: x, work: verbsWork(c)}
}

// variant is a series before its points are made.
type variant struct {
	name string
	cfg  verbs.Config
}

// bySize makes the points of a figure over message sizes.
func bySize(variants ...variant) func(Size) []Point {
	var points []Point
	for _, size := range sizes {
		for _, v := range variants {
			cfg := v.cfg
			cfg.Sizes = []int{size}
			points = append(points, verbsPoint(v.name, strconv.Itoa(size), cfg))
		}
	}
	return always(points)
}

// always is a plan that is the same on every machine.
func always(points []Point) func(Size) []Point {
	return func(Size) []Point { return points }
}

// test is a configuration of one test.
func test(name, transport string) verbs.Config {
	return verbs.Config{Tests: []string{name}, Transport: transport}
}

func inlined(c verbs.Config, on verbs.Toggle) verbs.Config {
	c.Inline = on
	return c
}

func latency() Figure {
	fullEcho := inlined(test("echo-ww", "uc"), verbs.On)
	fullEcho.Unsignaled = verbs.On
	return Figure{
		Name: "herd-fig2", Number: "Figure 2", Title: "Latency of verbs and of an ECHO",
		Ours:  "One operation at a time: READ and WRITE over RC until their completion, with and without inlining, and an ECHO by inlined, unsignaled WRITEs over UC.",
		Found: "READ and WRITE are alike, inlining makes small WRITEs faster, and an ECHO takes as long as a READ up to 64 bytes: a WRITE one way takes half of that.",
		X:     "message size, bytes", Shows: []Quantity{p50},
		Points: bySize(
			variant{"READ", test("read", "rc")},
			variant{"WRITE", inlined(test("write", "rc"), verbs.Off)},
			variant{"WRITE inline", inlined(test("write", "rc"), verbs.On)},
			variant{"ECHO", fullEcho},
		),
	}
}

func inbound() Figure {
	return Figure{
		Name: "herd-fig3", Number: "Figure 3", Title: "In-bound rate by verb and transport",
		Ours:  "Several clients, one server: what they READ from it, WRITE into it or SEND to it. Unsignaled, and inlined where it fits.",
		Found: "WRITEs over UC reach 35 Mops up to 32 bytes, 1.8 times what READs do; over RC less, for the acknowledgements; above 64 bytes all are alike.",
		X:     "message size, bytes", Shows: []Quantity{rate},
		Authors: []Found{{rate, "WRITE, UC", 35e6, []string{"8", "16", "32"}}},
		Points: bySize(
			variant{"READ, RC", test("inbound-read", "rc")},
			variant{"WRITE, UC", test("inbound-write", "uc")},
			variant{"WRITE, RC", test("inbound-write", "rc")},
			variant{"SEND, UD", test("inbound-send", "ud")},
		),
	}
}

func outbound() Figure {
	return Figure{
		Name: "herd-fig4", Number: "Figure 4", Title: "Out-bound rate by verb and transport",
		Ours:  "One server, several clients: what it READs from them, WRITEs into them or SENDs to them. Unsignaled.",
		Found: "Inlined WRITEs and SENDs of small messages are faster than READs, larger ones slower, but never by more than half.",
		X:     "message size, bytes", Shows: []Quantity{rate},
		Points: bySize(
			variant{"READ, RC", test("outbound-read", "rc")},
			variant{"WRITE, RC", inlined(test("outbound-write", "rc"), verbs.Off)},
			variant{"WRITE, UC", inlined(test("outbound-write", "uc"), verbs.Off)},
			variant{"WRITE inline, UC", inlined(test("outbound-write", "uc"), verbs.On)},
			variant{"SEND inline, UD", inlined(test("outbound-send", "ud"), verbs.On)},
		),
	}
}

// echo adds one optimisation after the other to three kinds of ECHO. Unreliable
// is UD for SENDs and UC for WRITEs.
func echo() Figure {
	f := Figure{
		Name: "herd-fig5", Number: "Figure 5", Title: fmt.Sprintf("ECHO rate, %d bytes", echoSize),
		Ours:  "A request and its reply, by three pairs of verbs, with each optimisation added to those before it. Basic is RC, signaled and not inlined; unreliable is UD for SENDs and UC for WRITEs.",
		Found: "All three matter. With all, WRITE/WRITE and WRITE/SEND reach 20 Mops and SEND/SEND 14.6.",
		X:     "request / reply", Shows: []Quantity{rate},
		Authors: []Found{
			{rate, "+ inline", 14.6e6, []string{"SEND/SEND"}}, {rate, "+ inline", 20e6, []string{"WRITE/WRITE", "WRITE/SEND"}},
		},
	}
	var points []Point
	for _, kind := range []struct{ name, test, request, reply string }{
		{"SEND/SEND", "echo-ss", "ud", ""},
		{"WRITE/WRITE", "echo-ww", "uc", ""},
		{"WRITE/SEND", "echo-ws", "uc", "ud"},
	} {
		cfg := test(kind.test, "rc")
		cfg.Sizes, cfg.Windows = []int{echoSize}, []int{echoWindow}
		cfg.Inline, cfg.Unsignaled = verbs.Off, verbs.Off
		add := func(series string) {
			points = append(points, verbsPoint(series, kind.name, cfg))
		}
		add("basic")
		cfg.Transport, cfg.ReplyTransport = kind.request, kind.reply
		add("+ unreliable")
		cfg.Unsignaled = verbs.On
		add("+ unsignaled")
		cfg.Inline = verbs.On
		add("+ inline")
	}
	f.Points = always(points)
	return f
}

func allToAll() Figure {
	f := Figure{
		Name: "herd-fig6", Number: "Figure 6", Title: "All-to-all rate, 32 bytes",
		Ours:  "N threads on either side, each talking to all on the other: N x N connected queue pairs, or N for datagrams, each of which reaches all. Inlined and unsignaled.",
		Found: "In-bound WRITEs and out-bound SENDs scale to 256 queue pairs; out-bound WRITEs fall to 15 %, because the adapter cannot hold the state of all connections.",
		X:     "N: threads on either side (N x N connected queue pairs)", Shows: []Quantity{rate},
	}
	var points []Point
	for _, n := range meshes {
		for _, v := range []variant{
			{"in-bound WRITE, UC", test("all-to-all", "uc")},
			{"out-bound SEND, UD", test("all-to-all-out-send", "ud")},
			{"out-bound WRITE, UC", test("all-to-all-out-write", "uc")},
		} {
			v.cfg.Threads, v.cfg.Sizes = n, []int{echoSize}
			points = append(points, verbsPoint(v.name, strconv.Itoa(n), v.cfg))
		}
	}
	f.Points = always(points)
	return f
}

// prefetch has a pair of series for every number of server cores that leaves as
// many CPUs to the clients.
func prefetch(cpus int) Figure {
	f := Figure{
		Name: "herd-fig7", Number: "Figure 7", Title: "Effect of prefetching on the rate of an ECHO",
		Ours: "Requests by WRITE over UC, replies by SEND over UD; for each request the server makes N random memory accesses, " +
			"each of which says where the next one goes: one after the other, or asked for ahead in HERD's pipeline.",
		Found: "Prefetching lets fewer cores deliver the same rate.",
		X:     "random memory accesses of the server for each request", Shows: []Quantity{rate},
	}
	var points []Point
	for _, n := range accesses {
		for cores := 1; cores == 1 || 2*cores <= cpus; cores *= 2 {
			for _, on := range []bool{true, false} {
				cfg := test("echo-ws", "uc")
				cfg.ReplyTransport, cfg.Sizes, cfg.Windows = "ud", []int{echoSize}, []int{searchWindow}
				cfg.Threads, cfg.Accesses, cfg.Prefetch = cores, []int{n}, []bool{on}
				points = append(points, verbsPoint(searchSeries(on, cores), strconv.Itoa(n), cfg))
			}
		}
	}
	f.Points = always(points)
	return f
}

func searchSeries(on bool, cores int) string {
	name := "no prefetch"
	if on {
		name = "prefetch"
	}
	if cores == 1 {
		return name + ", 1 core"
	}
	return fmt.Sprintf("%s, %d cores", name, cores)
}
