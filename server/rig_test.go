package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/cachetest"
	"github.com/remora-kv/remora/test/scale"
)

// fabrics are those that the tests cross; across says over which of them tests go
// that need other processes.
var (
	fabrics = scale.Fabrics()
	across  = []string{provider.Shm, provider.TCP}
)

// stormDefault is how many connections the storm makes without a wish.
var stormDefault = scale.Times(2000)

var (
	realEngines = []string{"mica", "lru8"}
	modes       = map[string]store.Mode{"cache": store.Cache, "store": store.Store}
)

// eachFabric runs a test on every fabric.
func eachFabric(t *testing.T, f func(t *testing.T, r *rig)) {
	for _, name := range fabrics {
		t.Run(name, func(t *testing.T) { f(t, newRig(t, name)) })
	}
}

// rig is a server, and a network for its clients.
type rig struct {
	t      testing.TB
	fabric string
	set    *provider.Set
	srv    *server.Server
	url    string
	// devices are those of clients.
	devices []fabric.Device
}

func newRig(t testing.TB, name string) *rig { return &rig{t: t, fabric: name, set: provider.New()} }

// listenURL is an address that is free.
func listenURL(t testing.TB, name string) string {
	return map[string]string{
		provider.Loop: "loop:cache",
		provider.Shm:  "shm:" + filepath.Join(t.TempDir(), "s"),
		provider.TCP:  "tcp://127.0.0.1:0",
		provider.RDMA: "rdma://127.0.0.1:0",
	}[name]
}

// testMemory is enough for the tests that are not about the end of memory.
const testMemory = 16 << 20

// config is what most tests need.
func (r *rig) config() server.Config {
	return server.Config{
		Listen: []string{listenURL(r.t, r.fabric)}, Cores: 2, Memory: testMemory, MaxKey: store.MaxKey, MaxValue: 1 << 17,
		Providers: r.set, Version: "test",
	}
}

// start starts the server.
func (r *rig) start(cfg server.Config) *server.Server {
	r.t.Helper()
	if cfg.Memory/int64(max(cfg.Cores, 1)) < int64(4*cfg.MaxValue) {
		cfg.MaxValue = 0 // what there is room for
	}
	s, err := server.Start(cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			r.t.Errorf("Close: %v", err)
		}
		if left := s.Usage(); len(left) != 0 {
			r.t.Errorf("memory is left: %v", left)
		}
	})
	r.srv, r.url = s, s.Addrs()[0].String()
	return s
}

// device opens a device for clients.
func (r *rig) device() fabric.Device {
	r.t.Helper()
	d, err := r.set.Open(r.fabric)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = d.Close() })
	r.devices = append(r.devices, d)
	return d
}

// dial connects a client on a device of its own.
func (r *rig) dial(opts ...remora.Option) *remora.Client {
	r.t.Helper()
	return dialOn(r.t, r.url, r.device(), opts...)
}

// unhurried is for clients on a machine that is busy with other tests.
var unhurried = remora.WithDialTimeout(cachetest.Watchdog)

// dialOn connects a client, which is closed at the end.
func dialOn(t testing.TB, url string, dev fabric.Device, opts ...remora.Option) *remora.Client {
	t.Helper()
	c, err := remora.Dial(testContext(t), url, append([]remora.Option{remora.WithDevice(dev), unhurried}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// session makes a session that is closed at the end.
func session(t testing.TB, c *remora.Client, opts ...remora.Option) *remora.Session {
	t.Helper()
	s, err := c.Session(testContext(t), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), cachetest.Watchdog)
	t.Cleanup(cancel)
	return ctx
}

// keyOn returns a key that belongs to a core.
func keyOn(s *server.Server, core int, prefix string) string {
	for i := 0; ; i++ {
		key := fmt.Sprint(prefix, i)
		if store.PartitionOf(s.Seed().HashString(key), s.Config().Cores) == core {
			return key
		}
	}
}

// logger writes everything to a log.
func logger(l *cachetest.Log) *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
