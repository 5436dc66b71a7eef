package keli_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/keli"
)

// serverEnv names the socket at which this binary is a server, for benchmarks between
// processes.
const serverEnv = "KELI_BENCH_SOCKET"

func TestMain(m *testing.M) {
	if path := os.Getenv(serverEnv); path != "" {
		if err := beServer(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// benchItems is larger than caches.
const benchItems = 200_000

func benchGraph() *graph {
	return &graph{
		items: benchItems, fill: func(int) int { return 64 },
		links:  func(i int) []int { return []int{i, (i * 7) % benchItems, (i * 13) % benchItems} },
		single: func(i int) int { return (i*7919 + 1) % benchItems },
	}
}

// beServer serves until its standard input ends.
func beServer(path string) error {
	dev, err := provider.New().Open(provider.Shm)
	if err != nil {
		return err
	}
	s, err := keli.NewServer(keli.Config{Device: dev})
	if err != nil {
		return err
	}
	if err := s.Publish(benchGraph().build); err != nil {
		return err
	}
	if _, err := s.Listen(fabric.Addr{Fabric: provider.Shm, Name: path}, fabric.ListenConfig{}); err != nil {
		return err
	}
	if _, err := os.Stdout.WriteString("ready\n"); err != nil {
		return err
	}
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	return s.Close()
}

// benchSession connects with a server in another process.
func benchSession(b *testing.B, opts ...keli.Option) *keli.Session {
	b.Helper()
	path := filepath.Join(b.TempDir(), "s")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverEnv+"="+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		b.Fatal(err)
	}
	c, err := keli.Dial(context.Background(), "shm:"+path, opts...)
	if err != nil {
		b.Fatal(err)
	}
	s, err := c.Session()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = s.Close()
		_ = c.Close()
	})
	return s
}

// BenchmarkRead compares the ways to an item on shm, between processes: its link, its key,
// lists and walks.
func BenchmarkRead(b *testing.B) {
	s := benchSession(b)
	ctx := context.Background()
	item, err := s.Lookup(ctx, key(0))
	if err != nil {
		b.Fatal(err)
	}
	one, to := nameOf(b, s.Schema(), "one"), nameOf(b, s.Schema(), "to")
	b.Run("Follow", func(b *testing.B) {
		link, _ := item.Link(one)
		b.ReportAllocs()
		for b.Loop() {
			it, err := s.Follow(ctx, link)
			if err != nil {
				b.Fatal(err)
			}
			link, _ = it.Link(one)
		}
	})
	keys := make([][]byte, 1<<16)
	for i := range keys {
		keys[i] = key((i * 7919) % benchItems)
	}
	b.Run("Lookup", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := s.Lookup(ctx, keys[i%len(keys)]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Walk", func(b *testing.B) {
		items := 0
		for b.Loop() {
			did, err := s.Walk(ctx, keli.WalkConfig{Keys: [][]byte{key(1)}}, func(it kvl.Item, _ int) (bool, error) {
				_, ok := it.List(to)
				return ok, nil
			})
			if err != nil {
				b.Fatal(err)
			}
			items += did.Items
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(items), "ns/item")
	})
}
