package cache_test

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/remora-kv/remora/bench/target/cache"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/benchtest"
)

// What a server refuses is counted by kind, in rows and in the table: here it has no memory
// for all keys, and evicts nothing.
func TestErrorsByKind(t *testing.T) {
	s, err := server.Start(server.Config{Listen: []string{"tcp://127.0.0.1:0"}, Memory: 1 << 20, Mode: store.Store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, goroutines := range []int{0, 2} {
		report, err := cache.Run(t.Context(), cache.Config{
			Server: s.Addrs()[0].String(), NoLoad: true, GetPcts: []float64{0}, ValueSizes: []int{1000}, Keys: 50_000, Ops: 4000, Goroutines: []int{goroutines},
		}, envOf(benchtest.Server))
		if err != nil {
			t.Fatal(err)
		}
		r := &report.Rows[0]
		if want := map[string]uint64{"out of memory": r.Errors}; r.Errors == 0 || !maps.Equal(r.ErrorsByKind, want) {
			t.Errorf("%d operations, %d errors, which are %v", r.Ops, r.Errors, r.ErrorsByKind)
		}
		var table bytes.Buffer
		if err := report.WriteTable(&table); err != nil || !strings.Contains(table.String(), " out of memory") {
			t.Errorf("%v\n%s", err, table.String())
		}
	}
}

// An item takes what it is made of at least, and not much more than twice that where there
// are many.
func TestBytesPerItem(t *testing.T) {
	needs(t, "memcached", "redis-server")
	const keys, own = 20_000, 16 + 200
	report := measure(t, cache.Config{
		Paths: []string{cache.PathRFP, cache.PathMemcached, cache.PathRedis}, Keys: keys, ValueSizes: []int{200},
	})
	for i := range report.Rows {
		r := &report.Rows[i]
		if r.Items == nil || *r.Items != keys || r.BytesPerItem == nil || *r.BytesPerItem < own || *r.BytesPerItem > 10*own {
			t.Errorf("%s: %v items of %v bytes", r.Path, r.Items, r.BytesPerItem)
			continue
		}
		t.Logf("%s: %g bytes for an item of %d", r.Path, *r.BytesPerItem, own)
	}
}

// memcached is asked by either protocol, and rows say which.
func TestProtocols(t *testing.T) {
	needs(t, "memcached", "redis-server")
	report := measure(t, cache.Config{
		Paths: []string{cache.PathMemcached, cache.PathRedis}, Protocols: cache.Protocols(), Windows: []int{4}, Batches: []int{8}, GetPcts: []float64{50},
	})
	var got []string
	for i := range report.Rows {
		got = append(got, report.Rows[i].Path+" "+report.Rows[i].Protocol)
	}
	if text := strings.Join(got, ", "); text != "memcached text, memcached meta, redis " {
		t.Errorf("measured %s", text)
	}
	var table bytes.Buffer
	if err := report.WriteTable(&table); err != nil || !strings.Contains(table.String(), "meta") {
		t.Errorf("%v\n%s", err, table.String())
	}
}
