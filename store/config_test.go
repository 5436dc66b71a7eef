package store_test

import (
	"strings"
	"testing"

	"github.com/remora-kv/remora/store"
)

func TestCompleteFillsIn(t *testing.T) {
	got, err := store.Config{Memory: store.MinMemory}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	if got.Arena == nil || got.MaxValue != store.DefaultMaxValue || got.Mode != store.Cache || got.Eviction != store.SecondChance {
		t.Errorf("%+v", got)
	}
	a := store.NewArena(nil)
	full := store.Config{
		Arena: a, Memory: 1 << 30, MaxValue: store.MaxValueLimit, Seed: 3, FirstVersion: store.MaxVersion / 2,
		Mode: store.Store, Eviction: store.FIFO,
	}
	if got, err := full.Complete(); err != nil || got != full {
		t.Errorf("%+v, %v", got, err)
	}
	if again, err := got.Complete(); err != nil || again != got {
		t.Errorf("complete twice: %+v, %v", again, err)
	}
}

func TestCompleteFaults(t *testing.T) {
	good := store.Config{Memory: 1 << 20}
	for _, c := range []struct {
		what   string
		change func(c *store.Config)
	}{
		{"memory of 0", func(c *store.Config) { c.Memory = 0 }},
		{"memory of -5", func(c *store.Config) { c.Memory = -5 }},
		{"memory of 65535", func(c *store.Config) { c.Memory = store.MinMemory - 1 }},
		{"values up to -1", func(c *store.Config) { c.MaxValue = -1 }},
		{"values up to 67108865", func(c *store.Config) { c.MaxValue = store.MaxValueLimit + 1 }},
		{"first version", func(c *store.Config) { c.FirstVersion = store.MaxVersion/2 + 1 }},
		{"unknown mode 2", func(c *store.Config) { c.Mode = 2 }},
		{"unknown eviction 2", func(c *store.Config) { c.Eviction = 2 }},
	} {
		bad := good
		c.change(&bad)
		if _, err := bad.Complete(); err == nil || !strings.Contains(err.Error(), c.what) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	// All faults in one error.
	_, err := store.Config{MaxValue: -1, FirstVersion: store.MaxVersion, Mode: 3, Eviction: 4}.Complete()
	if err == nil || strings.Count(err.Error(), "\n") != 4 || !strings.HasPrefix(err.Error(), "store: ") {
		t.Errorf("five faults: %v", err)
	}
}
