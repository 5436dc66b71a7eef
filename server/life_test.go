package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/test/cachetest"
)

// awaitClients waits until a server has so many clients, over all cores.
func awaitClients(t testing.TB, s *server.Server, n int) {
	t.Helper()
	cachetest.Await(t, fmt.Sprint(n, " clients"), func() bool { return s.Clients() == n })
}

// Nothing is left of a server after Close: no goroutine, no socket file, no
// memory.
func TestCloseLeavesNothing(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		running := goleak.IgnoreCurrent()
		files := openFiles(t)
		for range 3 {
			cfg := r.config()
			cfg.Engine = "kept mica"
			s, err := server.Start(cfg)
			if err != nil {
				t.Fatal(err)
			}
			r.url = s.Addrs()[0].String()
			c := r.dial()
			ss := session(t, c)
			mustSet(t, c, "k", "v", 0)
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Errorf("second Close: %v", err)
			}
			_ = ss.Close()
			_ = c.Close()
			if left := s.Usage(); len(left) != 0 || keptBy(s.Seed()).open != 0 {
				t.Errorf("memory is left: %v", left)
			}
			noFile(t, cfg.Listen[0])
		}
		closeDevices(t, r)
		noGoroutines(t, running)
		if now := openFiles(t); now > files {
			t.Errorf("%d open files instead of %d", now, files)
		}
	})
}

// noGoroutines fails if there are goroutines that were not running before.
func noGoroutines(t *testing.T, running goleak.Option) {
	t.Helper()
	if err := cachetest.Leaked(running); err != nil {
		t.Error(err)
	}
}

// closeDevices closes what the rig opened for clients, before the test is over.
func closeDevices(t *testing.T, r *rig) {
	t.Helper()
	for _, d := range r.devices {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	r.devices = nil
}

// noFile fails if the socket of a shm address is there.
func noFile(t *testing.T, url string) {
	t.Helper()
	path, ok := strings.CutPrefix(url, "shm:")
	if !ok {
		return
	}
	if left, _ := filepath.Glob(path + "*"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// openFiles counts the open files of this process.
func openFiles(t testing.TB) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc here")
	}
	return len(all)
}

// A server that cannot listen on all addresses does not start, says which one it
// is, and leaves nothing behind: the others are free again.
func TestTakenAddress(t *testing.T) {
	for _, name := range fabrics {
		for _, first := range fabrics {
			t.Run(first+" and taken "+name, func(t *testing.T) {
				holder := newRig(t, name)
				held := holder.start(holder.config())
				partitions, files, running := openPartitions(), openFiles(t), goleak.IgnoreCurrent()
				free := listenURL(t, first)
				cfg := holder.config()
				if first == name && name == provider.Loop {
					free = "loop:free"
				}
				cfg.Engine, cfg.Listen = "kept lru8", []string{free, held.Addrs()[0].String()}
				for range 3 {
					s, err := server.Start(cfg)
					if err == nil {
						_ = s.Close()
						t.Fatal("it starts at an address that is taken")
					}
					if !strings.Contains(err.Error(), "cannot listen on "+held.Addrs()[0].String()) {
						t.Errorf("the error does not say where: %v", err)
					}
				}
				noGoroutines(t, running)
				if n := openPartitions(); n != partitions {
					t.Errorf("%d partitions are open", n-partitions)
				}
				if now := openFiles(t); now > files {
					t.Errorf("%d open files instead of %d", now, files)
				}
				noFile(t, free)
				// Who held the address is not disturbed, and the free one is free.
				mustSet(t, holder.dial(), "k", "v", 0)
				cfg.Listen = cfg.Listen[:1]
				s, err := server.Start(cfg)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// Devices that cannot be opened and partitions that cannot be made are reported,
// and what was made before them is given back.
func TestFailedStart(t *testing.T) {
	r := newRig(t, fabrics[0])
	running := goleak.IgnoreCurrent()
	for name, change := range map[string]func(*server.Config){
		"no such directory": func(c *server.Config) { c.Listen = []string{"shm:" + filepath.Join(t.TempDir(), "none", "s")} },
		"not our address":   func(c *server.Config) { c.Listen = []string{"tcp://192.0.2.1:7700"} },
		"too much memory":   func(c *server.Config) { c.Memory = 1 << 60 },
	} {
		t.Run(name, func(t *testing.T) {
			partitions := openPartitions()
			cfg := r.config()
			cfg.Engine = "kept mica"
			change(&cfg)
			if s, err := server.Start(cfg); err == nil {
				_ = s.Close()
				t.Error("it starts")
			}
			if n := openPartitions(); n != partitions {
				t.Errorf("%d partitions are open", n-partitions)
			}
		})
	}
	noGoroutines(t, running)
}
