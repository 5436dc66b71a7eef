package cache_test

import (
	"context"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/target/cache"
	"github.com/remora-kv/remora/test/benchtest"
)

// startAgent starts an agent on this machine, and returns where, and how to end it at once.
func startAgent(t *testing.T, version, token string) (address string, kill context.CancelFunc) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	argv := benchtest.Self(roleMember)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- host.ServeAgent(ctx, l, host.AgentConfig{Token: token, Version: version, Command: argv})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String(), cancel
}

// Two agents, one server: by operations and by time, with several processes each.
func TestAgents(t *testing.T) {
	const token = "the token of this test"
	one, _ := startAgent(t, "test", token)
	two, _ := startAgent(t, "test", token)
	cfg := cache.Config{Server: serve(t, "tcp://127.0.0.1:0"), Agents: []string{one, two}, Token: token, Clients: []int{2}, Windows: []int{2}, Trials: 2}
	report := measure(t, cfg)
	for i := range report.Rows {
		if r := &report.Rows[i]; r.Processes != 2 || r.Clients != 2 || r.ClientCPU == nil || r.Ops != 2*2*testOps {
			t.Errorf("%+v", r)
		}
	}
	if notes := strings.Join(report.Notes, "\n"); !strings.Contains(notes, one) || !strings.Contains(notes, "where the agents are") {
		t.Errorf("the notes do not say where the clients were:\n%s", notes)
	}
	cfg.Processes, cfg.Duration, cfg.Warmup, cfg.Keys, cfg.Trials = []int{2}, 100*time.Millisecond, 10*time.Millisecond, testKeys, 1
	report, err := cache.Run(t.Context(), cfg, envOf(benchtest.Server))
	if err != nil {
		t.Fatal(err)
	}
	if r := &report.Rows[0]; r.Processes != 4 || r.Ops == 0 || r.Seconds < 0.1 || r.OpsPerSec > 1.05*float64(r.Ops)/0.1 || r.Verbs.Write > 1.5 {
		t.Errorf("%+v", r)
	}
}

// An agent that ends, and a client process of one that is killed, end the trial.
func TestAnAgentThatDies(t *testing.T) {
	for want, kill := range map[string]func(cancel context.CancelFunc){
		"connection lost": func(cancel context.CancelFunc) { cancel() },
		"killed":          func(context.CancelFunc) { killMember() },
	} {
		one, _ := startAgent(t, "test", "")
		two, cancel := startAgent(t, "test", "")
		env := envOf(benchtest.Server)
		whenMeasuring(&env, func() { kill(cancel) })
		_, err := cache.Run(t.Context(), cache.Config{
			Server: serve(t, "tcp://127.0.0.1:0"), Agents: []string{one, two}, Keys: 100, Duration: time.Hour, Warmup: time.Millisecond,
		}, env)
		if err == nil || !strings.Contains(err.Error(), "agent 127.0.0.1:") || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
		if left := benchtest.Children(os.Getpid(), roleMember); want == "connection lost" && len(left) > 1 {
			t.Errorf("processes %v are left", left)
		}
	}
}

// Agents that do not work for this controller say why.
func TestAgentsThatRefuse(t *testing.T) {
	url := serve(t, "tcp://127.0.0.1:0")
	guarded, _ := startAgent(t, "test", "the token of this test")
	old, _ := startAgent(t, "older", "")
	for want, agent := range map[string]string{
		"--token or REMORA_BENCH_TOKEN":                      guarded,
		`it is of version "older", the controller of "test"`: old,
		"is `remora bench agent` running there?":             "127.0.0.1:1",
	} {
		_, err := cache.Run(t.Context(), cache.Config{Server: url, Agents: []string{agent}, Keys: 10, Ops: 10}, envOf(benchtest.Server))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), agent) {
			t.Errorf("%s: %v, want %q", agent, err, want)
		}
	}
	for want, cfg := range map[string]cache.Config{
		"give one with --server": {Agents: []string{"x:1"}},
		"write host:port":        {Agents: []string{"x"}, Server: url},
	} {
		if _, err := cache.Run(t.Context(), cfg, envOf(benchtest.Server)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
