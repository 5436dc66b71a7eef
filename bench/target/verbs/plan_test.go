package verbs

import (
	"slices"
	"strings"
	"testing"

	"github.com/remora-kv/remora/fabric"
)

func planOf(t *testing.T, c Config) []Case {
	t.Helper()
	if err := c.normalize(); err != nil {
		t.Fatal(err)
	}
	cases, err := c.plan(limits())
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func names(cases []Case) []string {
	var out []string
	for i := range cases {
		if len(out) == 0 || out[len(out)-1] != cases[i].Test {
			out = append(out, cases[i].Test)
		}
	}
	return out
}

func TestSuiteIsEverythingTheTransportCarries(t *testing.T) {
	for transport, want := range map[string][]string{
		"rc": {
			"limit", "limit-pair", "read", "write", "send", "fetch-add", "echo-ss", "echo-ws", "echo-ww",
			"inbound-read", "inbound-write", "inbound-send", "outbound-read", "outbound-write", "outbound-send",
			"all-to-all", "all-to-all-out-write", "all-to-all-out-send", "idle",
		},
		"uc": {
			"limit", "limit-pair", "write", "send", "echo-ss", "echo-ws", "echo-ww",
			"inbound-write", "inbound-send", "outbound-write", "outbound-send",
			"all-to-all", "all-to-all-out-write", "all-to-all-out-send", "idle",
		},
		"ud": {"limit", "limit-pair", "send", "echo-ss", "inbound-send", "outbound-send", "all-to-all-out-send"},
	} {
		if got := names(planOf(t, Config{Transport: transport})); !slices.Equal(got, want) {
			t.Errorf("suite on %s: %q, want %q", transport, got, want)
		}
	}
	if got := names(planOf(t, Config{Fabric: "loop"})); slices.Contains(got, "idle") {
		t.Errorf("suite on loop has idle: %q", got)
	}
}

func TestEveryCombinationIsACase(t *testing.T) {
	cases := planOf(t, Config{Tests: []string{"write", "inbound"}, Sizes: []int{8, 64}, Windows: []int{1, 4, 16}})
	if want := 2*3 + 3*2*3; len(cases) != want {
		t.Fatalf("%d cases, want %d", len(cases), want)
	}
	first := cases[0]
	if first.Test != "write" || first.Size != 8 || first.Window != 1 || first.Inline || !first.Signaled {
		t.Errorf("first case %+v", first)
	}
}

func TestPostingDefaultsBelongToTheTest(t *testing.T) {
	for _, tc := range []struct {
		cfg              Config
		inline, signaled bool
	}{
		{Config{Tests: []string{"write"}, Windows: []int{8}}, false, true},
		{Config{Tests: []string{"write"}, Windows: []int{8}, Inline: On, Unsignaled: On}, true, false},
		{Config{Tests: []string{"echo-ww"}}, true, false},
		{Config{Tests: []string{"echo-ww"}, Inline: Off, Unsignaled: Off}, false, true},
		{Config{Tests: []string{"echo-ww"}, Sizes: []int{512}}, false, false},
		{Config{Tests: []string{"all-to-all"}}, true, false},
		{Config{Tests: []string{"all-to-all"}, Windows: []int{1}}, true, true},
	} {
		c := planOf(t, tc.cfg)[0]
		if c.Inline != tc.inline || c.Signaled != tc.signaled {
			t.Errorf("%v: inline %v signaled %v, want %v %v", tc.cfg.Tests, c.Inline, c.Signaled, tc.inline, tc.signaled)
		}
	}
	for _, c := range planOf(t, Config{Tests: []string{"inbound"}}) {
		if want := c.Op != fabric.OpRead; c.Inline != want {
			t.Errorf("%s: inline %v, want %v", c.Test, c.Inline, want)
		}
	}
}

// The name of a row is a test, too.
func TestOneOperationOfSeveral(t *testing.T) {
	cases := planOf(t, Config{Tests: []string{"inbound-write", "all-to-all-out-send"}, Transport: "uc"})
	if got := names(cases); !slices.Equal(got, []string{"inbound-write", "all-to-all-out-send"}) || len(cases) != 2 {
		t.Errorf("planned %q", got)
	}
	for _, tc := range cases {
		if tc.Threads != 2 || !tc.Inline || tc.Signaled {
			t.Errorf("%s lost its defaults: %+v", tc.Test, tc)
		}
	}
	c := Config{Tests: []string{"inbound-read"}, Transport: "ud"}
	if err := c.normalize(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.plan(limits()); err == nil || !strings.Contains(err.Error(), "use --transport rc") {
		t.Errorf("READ over datagrams: %v", err)
	}
	for _, p := range Parts() {
		if _, err := lookup(p.Name); err != nil || len(p.Transports) == 0 {
			t.Errorf("%s: %v, %v", p.Name, p.Transports, err)
		}
	}
}

func TestThreadsMakeAMesh(t *testing.T) {
	c := planOf(t, Config{Tests: []string{"all-to-all"}, Threads: 3})[0]
	if c.Threads != 3 || c.QPs != 3 || c.lanes() != 9 {
		t.Errorf("all-to-all with 3 threads: %d x %d", c.Threads, c.QPs)
	}
	if c := planOf(t, Config{Tests: []string{"limit"}, Threads: 3})[0]; c.Threads != 1 {
		t.Errorf("limit with %d threads", c.Threads)
	}
}

func TestPlacementKeepsClientAndServerApart(t *testing.T) {
	echo := Case{Kind: kindEcho, Threads: 2, QPs: 1}
	passive := Case{Kind: kindInbound, Op: fabric.OpRead, Threads: 4, QPs: 1}
	mesh := Case{Kind: kindOutbound, Op: fabric.OpWrite, Threads: 4, QPs: 4}
	sends := Case{Kind: kindOutbound, Op: fabric.OpSend, Threads: 4, QPs: 4}
	out := Case{Kind: kindOutbound, Op: fabric.OpWrite, Threads: 4, QPs: 1}
	for _, tc := range []struct {
		name           string
		c              Case
		cpus           []int
		client, server []int
		threads        int
		warns          bool
	}{
		{"two CPUs", echo, []int{0, 1}, []int{0}, []int{1}, 1, true},
		{"four CPUs", echo, []int{0, 1, 2, 3}, []int{0, 1}, []int{2, 3}, 2, false},
		{"one CPU", echo, []int{5}, []int{5}, []int{5}, 1, true},
		{"no affinity", echo, nil, nil, nil, 1, true},
		{"all to all on one CPU", mesh, []int{5}, []int{5}, []int{5}, 4, true},
		{"idle server gives up its CPU", passive, []int{0, 1}, []int{0, 1}, []int{0, 1}, 2, true},
		{"idle clients give up theirs", mesh, []int{0, 1}, []int{0, 1}, []int{0, 1}, 4, true},
		{"those who receive do not", sends, []int{0, 1}, []int{0}, []int{1}, 4, true},
		{"out-bound, the server has one thread", out, []int{0, 1, 2, 3}, []int{0, 1, 2}, []int{3}, 1, false},
		{"all to all, many", mesh, []int{0, 1, 2, 3, 4, 5, 6, 7}, []int{0}, []int{1, 2, 3, 4, 5, 6, 7}, 4, false},
		{"and keeps it when there are enough", passive, []int{0, 1, 2, 3, 4, 5, 6, 7}, []int{0, 1, 2, 3}, []int{4, 5, 6, 7}, 4, false},
	} {
		p := place(&tc.c, tc.cpus)
		if !slices.Equal(p.Client, tc.client) || !slices.Equal(p.Server, tc.server) || p.serverThreads != tc.threads {
			t.Errorf("%s: %+v", tc.name, p)
		}
		if (p.Warning != "") != tc.warns {
			t.Errorf("%s: warning %q", tc.name, p.Warning)
		}
	}
}

func TestPlacementOnTwoHosts(t *testing.T) {
	echo := Case{Kind: kindEcho, Threads: 2, QPs: 1}
	for _, tc := range []struct {
		name  string
		cpus  []int
		warns bool
	}{
		{"one CPU", []int{3}, true},
		{"two CPUs", []int{0, 1}, false},
		{"no affinity", nil, true},
	} {
		p := placeApart(&echo, tc.cpus)
		if !slices.Equal(p.Client, tc.cpus) || len(p.Server) != 0 || p.serverThreads != 0 {
			t.Errorf("%s: %+v", tc.name, p)
		}
		if (p.Warning != "") != tc.warns {
			t.Errorf("%s: warning %q", tc.name, p.Warning)
		}
	}
	single := Case{Kind: kindEcho, Threads: 1, QPs: 1}
	if p := placeApart(&single, []int{5}); p.Warning != "" {
		t.Errorf("one thread on one CPU of its own host: %q", p.Warning)
	}
	if cpus, threads := placeSelf(&single); threads != 1 {
		t.Errorf("a server for one client has %d threads on CPUs %v", threads, cpus)
	}
}

// Little's law is not asked of limit with one exchange at a time, in which the client works
// between two of them for a part of the time.
func TestInFlight(t *testing.T) {
	for _, tc := range []struct {
		test         string
		window, want int
	}{{limitTest, 1, 0}, {limitTest, 4, 4}, {"echo-ww", 1, 1}, {"all-to-all", 4, 16}} {
		c := planOf(t, Config{Tests: []string{tc.test}, Windows: []int{tc.window}})[0]
		if got := c.inFlight(); got != tc.want {
			t.Errorf("%s with a window of %d: %d in flight, want %d", tc.test, tc.window, got, tc.want)
		}
	}
}
