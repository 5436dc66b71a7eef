package cache

import (
	"net"
	"strings"
	"testing"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/fabric"
)

// fine is a row that nobody has doubts about.
func fine() Row {
	half := 50.0
	return Row{
		Path: PathMemcached, Measure: bench.Measure{OpsPerSec: 1e6, Samples: 20_000, ClientCPU: &half, ServerCPU: &half}, Generator: 2e7, Cores: 1,
	}
}

// D6, D7, D12: each doubt is provoked, alone, and a row without any stays silent.
func TestDoubts(t *testing.T) {
	all := 99.0
	for _, tc := range []struct {
		want   string
		change func(*Row, *Case)
	}{
		{"", func(*Row, *Case) {}},
		{"the generator was the bottleneck", func(r *Row, _ *Case) { r.OpsPerSec = 1.1e7 }},
		{"", func(r *Row, s *Case) { r.OpsPerSec, s.Clients = 1.9e7, 2 }}, // two threads
		{"", func(r *Row, _ *Case) { r.OpsPerSec, r.Generator = 1.9e7, 0 }},
		{"the client was the bottleneck", func(r *Row, _ *Case) { r.ClientCPU = &all }},
		{"", func(r *Row, _ *Case) { r.ClientCPU, r.ServerCPU = &all, &all }},
		{"", func(r *Row, s *Case) { r.ClientCPU, s.Poll = &all, fabric.Busy }},
		{"", func(r *Row, s *Case) { r.ClientCPU, s.Path = &all, PathRFP }},
		{"", func(r *Row, s *Case) { r.ClientCPU, s.Clients = &all, 2 }},
		{"refused", func(r *Row, _ *Case) { r.Errors = 1 }},
		{"evicted keys", func(r *Row, _ *Case) { r.Misses = 1 }},
		{"", func(r *Row, _ *Case) { r.Misses, r.Fill = 1, true }},
	} {
		row, c := fine(), &Case{Path: PathMemcached, Clients: 1}
		tc.change(&row, c)
		all := doubts(&row, c, &host.Placement{Client: []int{0, 0}})
		if text := strings.Join(all, "|"); (tc.want == "") != (text == "") || !strings.Contains(text, tc.want) || len(all) > 1 {
			t.Errorf("%q instead of %q for %+v", text, tc.want, row)
		}
	}
}

// D3: a server on this host is known by its address.
func TestNeighbour(t *testing.T) {
	for server, near := range map[string]bool{
		"": false, "shm:/run/x": true, "tcp://127.0.0.1:7700": true, "tcp://localhost:7700": true, "tcp://[::1]:7700": true,
		"tcp://192.0.2.7:7700": false, "rdma://other.example:7700": false,
	} {
		if got := neighbour(server); (got != "") != near {
			t.Errorf("%q: %q", server, got)
		}
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && !ownAddress(net.JoinHostPort(n.IP.String(), "1")) {
			t.Errorf("%v is not known", n.IP)
		}
	}
}

// D7 is about CPUs of their own: a neighbour keeps a server from using its CPU, too.
func TestASaturatedClientWithNeighbours(t *testing.T) {
	row, all := fine(), 99.0
	row.ClientCPU = &all
	busy, err := host.ParseSharing(host.ShareBusyServer)
	if err != nil {
		t.Fatal(err)
	}
	if texts := doubts(&row, &Case{Path: PathMemcached, Clients: 1}, &host.Placement{Client: []int{0}, Sharing: busy}); len(texts) != 0 {
		t.Errorf("warned of %q", texts)
	}
}

// D6: the generator is measured once for a load, whatever the target, and not where nobody
// wants it.
func TestGeneratorIsMeasuredOnce(t *testing.T) {
	r := newRunner(Config{}, Env{}, nil)
	r.cfg.Seed = 1
	base := *nullCase(1, 16)
	base.Path, base.Dist = PathRFP, DistUniform
	other := base
	other.Path, other.Clients, other.Rate, other.Memory = PathRedis, 3, 1e5, 1<<30
	first, err := r.generator(t.Context(), &base, host.Placement{})
	if err != nil || first <= 0 {
		t.Fatalf("%v, %v", first, err)
	}
	if again, err := r.generator(t.Context(), &other, host.Placement{}); err != nil || again != first || len(r.alone) != 1 {
		t.Errorf("the same load of another target: %v after %v, %d loads, %v", again, first, len(r.alone), err)
	}
	shared := base
	shared.Goroutines = 100
	if x, err := r.generator(t.Context(), &shared, host.Placement{}); err != nil || x <= 0 || len(r.alone) != 2 {
		t.Errorf("goroutines: %v, %d loads, %v", x, len(r.alone), err)
	}
	r.cfg.NoGenerator = true
	if x, err := r.generator(t.Context(), &base, host.Placement{}); err != nil || x != 0 {
		t.Errorf("nobody wanted it: %v, %v", x, err)
	}
}
