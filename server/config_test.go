package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/cachetest"
)

func TestDefaults(t *testing.T) {
	cfg, err := server.Config{Listen: []string{"loop:a"}}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Cores != 1 || cfg.Memory != server.DefaultMemory || cfg.Engine != server.DefaultEngine ||
		cfg.MaxValue != store.DefaultMaxValue || cfg.MaxClients != server.DefaultMaxClients ||
		cfg.Providers == nil || cfg.Log == nil {
		t.Errorf("%+v", cfg)
	}
	if all := server.Engines(); all[0] != server.DefaultEngine || !slices.Contains(all, "lru8") {
		t.Errorf("the engines are %v", all)
	}
}

// All that is wrong with a configuration is in one error, and says what to do.
func TestMistakesInTheConfiguration(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  server.Config
		want []string
	}{
		"nothing":      {server.Config{}, []string{"no address to listen on", "shm:/run/remora.sock"}},
		"address":      {server.Config{Listen: []string{"loop:a", "carrier-pigeon:b", "tcp://"}}, []string{"carrier-pigeon:b", `"tcp://"`}},
		"cores":        {server.Config{Cores: -1}, []string{"-1 cores: between 1 and 1024"}},
		"many cores":   {server.Config{Cores: 1025, Memory: 1 << 40}, []string{"1025 cores"}},
		"CPUs":         {server.Config{Cores: 2, CPUs: []int{1}}, []string{"1 CPUs for 2 cores"}},
		"engine":       {server.Config{Engine: "steam"}, []string{`engine "steam" is unknown: use mica or`, "lru8"}},
		"keys":         {server.Config{MaxKey: store.MaxKey + 1}, []string{"keys up to 65536 bytes: between 1 and 65535"}},
		"values":       {server.Config{MaxValue: store.MaxValueLimit + 1}, []string{"values up to 67108865 bytes: between 1 and 67108864"}},
		"no values":    {server.Config{MaxValue: -1}, []string{"values up to -1 bytes"}},
		"clients":      {server.Config{MaxClients: 1<<20 + 1}, []string{"1048577 clients per core"}},
		"no clients":   {server.Config{MaxClients: -5}, []string{"-5 clients per core"}},
		"memory":       {server.Config{Cores: 4, Memory: 4*store.MinMemory - 1}, []string{"262143 bytes of memory for 4 cores: each needs at least 65536"}},
		"long values":  {server.Config{Cores: 4, Memory: 8 << 20, MaxValue: 1 << 20}, []string{"8388608 bytes of memory for 4 cores are 2097152 for each", "memory to at least 16777216", "value to at most 524288", "fewer cores"}},
		"several":      {server.Config{Engine: "steam", MaxValue: -1, Cores: -2}, []string{"steam", "values", "-2 cores", "no address"}},
		"less than no": {server.Config{Memory: -1}, []string{"-1 bytes of memory"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.cfg.Complete()
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
			if s, err := server.Start(c.cfg); err == nil {
				_ = s.Close()
				t.Error("it starts nevertheless")
			}
		})
	}
}

// The longest value fits every engine with the least memory for it, and is what fits by default.
func TestTheLongestValueFits(t *testing.T) {
	for _, engine := range server.Engines() {
		if engine == "slots" || strings.Contains(engine, " ") {
			continue // it has limits of its own; or one of the tests
		}
		r := newRig(t, fabrics[0])
		cfg := r.config()
		cfg.Engine, cfg.Cores, cfg.Memory, cfg.MaxValue = engine, 2, 1<<20, 0
		s := r.start(cfg)
		if got := s.Config().MaxValue; got != 1<<17 {
			t.Fatalf("%s: values up to %d bytes by default", engine, got)
		}
		mustSet(t, r.dial(), "key", strings.Repeat("v", 1<<17), 0)
	}
}

// A configuration is not changed by its completion, and the best is made of more
// cores than there are.
func TestCompletionCopies(t *testing.T) {
	log := &cachetest.Log{}
	cfg := server.Config{Listen: []string{"loop:a"}, Cores: 1000, Log: logger(log)}
	if _, err := cfg.Complete(); err != nil {
		t.Fatal(err)
	}
	if cfg.Memory != 0 || cfg.Engine != "" {
		t.Errorf("changed: %+v", cfg)
	}
	if !strings.Contains(log.String(), "more cores than CPUs") {
		t.Errorf("it said %q", log)
	}
}
