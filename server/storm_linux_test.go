package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/herd"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/test/cachetest"
	"github.com/remora-kv/remora/test/scale"
)

// stormVar is how many connections the storm makes in all; the default is what a
// test of every day has time for.
const stormVar = "REMORA_TEST_STORM"

func stormSize(t testing.TB) int {
	text := os.Getenv(stormVar)
	if text == "" {
		return stormDefault
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 100 {
		t.Fatalf("%s=%q is no number of connections", stormVar, text)
	}
	return n
}

func init() { roles["stampede"] = stampedeRole }

// stampedeTask is what a process of the storm is told.
type stampedeTask struct {
	URL   string
	Count int
	Kill  bool // it waits to be killed; otherwise it takes leave
}

// stampedeRole connects many times: raw connections in the middle of something,
// and clients. It says when all are there.
func stampedeRole() error {
	var task stampedeTask
	if err := json.Unmarshal([]byte(os.Args[1]), &task); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), cachetest.Watchdog)
	defer cancel()
	dev, err := provider.New().Open(task.URL)
	if err != nil {
		return err
	}
	s := &stampede{url: task.URL, dev: dev}
	for i := range task.Count {
		if err := s.connect(ctx, i); err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
	}
	fmt.Fprintln(os.Stdout, "connected")
	if _, err := os.Stdin.Read(make([]byte, 1)); task.Kill {
		return fmt.Errorf("it should have been killed: %w", err)
	}
	return s.leave()
}

// stampede is the connections of one process.
type stampede struct {
	url     string
	dev     fabric.Device
	conns   []*rfp.Conn
	herd    []*herd.Conn
	clients []*remora.Client
}

// connect makes the connection number i: what it is in the middle of depends on
// that.
func (s *stampede) connect(ctx context.Context, i int) error {
	if i%4 == 3 {
		path := remora.PathRFP
		switch i % 16 {
		case 3, 11:
			path = remora.PathHerd
		case 7:
			path = remora.PathSendRecv
		}
		c, err := remora.Dial(ctx, s.url, remora.WithDevice(s.dev), unhurried, remora.WithPath(path))
		if err != nil {
			return err
		}
		s.clients = append(s.clients, c)
		_, err = c.Set(ctx, fmt.Sprint("key ", i%5), []byte("value"), 0)
		return err
	}
	addr, err := fabric.ParseAddr(s.url)
	if err != nil {
		return err
	}
	if i%4 == 0 {
		return s.connectHerd(ctx, addr, i)
	}
	conn, err := rfp.Dial(ctx, addr, rfp.ConnConfig{Device: s.dev, Core: rfp.AnyCore, Window: 1 + i%4})
	if err != nil {
		return err
	}
	s.conns = append(s.conns, conn)
	switch i % 8 {
	case 1: // a request whose answer nobody takes
		err = conn.Send(0, request(command.Get, []byte("key 1")))
	case 2: // a request of which only the beginning was sent
		value := strings.Repeat("x", 60_000)
		err = conn.Send(0, request(command.Put, command.AppendPut(nil, "key 2", []byte(value), &command.Store{})))
	case 5: // as many as fit
		for err == nil {
			err = conn.Send(0, request(command.Stats, nil))
		}
	}
	if errors.Is(err, rpc.ErrWindowFull) {
		err = nil
	}
	return err
}

// connectHerd is connect by herd: with nothing on its way, or as much as fits.
func (s *stampede) connectHerd(ctx context.Context, addr fabric.Addr, i int) error {
	conn, err := herd.Dial(ctx, addr, herd.ConnConfig{Device: s.dev, Window: 1 + i%16})
	if err != nil {
		return err
	}
	s.herd = append(s.herd, conn)
	for core := range conn.Cores() {
		for i%8 == 4 && err == nil {
			err = conn.CoreConn(core).Send(1, request(command.Get, []byte("key 1")))
		}
		if !errors.Is(err, rpc.ErrWindowFull) && err != nil {
			return err
		}
		err = nil
	}
	return nil
}

// leave ends all connections in order.
func (s *stampede) leave() error {
	for _, c := range s.clients {
		if err := c.Close(); err != nil {
			return err
		}
	}
	for _, c := range s.conns {
		if err := c.Close(); err != nil {
			return err
		}
	}
	for _, c := range s.herd {
		if err := c.Close(); err != nil {
			return err
		}
	}
	return s.dev.Close()
}

// A server that thousands of clients connect to and leave, politely, by the death
// of their processes, and in the middle of requests, is what it was before.
func TestConnectStorm(t *testing.T) {
	for _, name := range across {
		t.Run(name, func(t *testing.T) {
			runtimeDir := t.TempDir()
			t.Setenv("XDG_RUNTIME_DIR", runtimeDir)
			s := startServer(t, serverTask{URL: listenURL(t, name), Cores: 2})
			total := stormSize(t) / len(across)
			storm(t, s, min(total, 300)) // memory that is allocated once for all
			before := awaitCalm(t, s, nil)
			storm(t, s, total)
			after := awaitCalm(t, s, before)
			t.Logf("%d connections: from %+v to %+v", total, before, after)
			if limit := before.RSS + 16<<20 + int64(total)*1024; after.RSS > limit && !scale.Race {
				t.Errorf("resident memory grew from %d to %d", before.RSS, after.RSS)
			}
			if left, err := os.ReadDir(runtimeDir); err != nil || len(left) > 4 {
				t.Errorf("%d directories of processes are left, %v", len(left), err)
			}
			// And it works.
			r := newRig(t, name)
			r.url = s.url
			c := r.dial()
			mustSet(t, c, "k", "after the storm", 0)
			if value, err := c.Get(testContext(t), "k"); err != nil || string(value) != "after the storm" {
				t.Errorf("after the storm: %q, %v", value, err)
			}
		})
	}
}

// storm makes connections from several processes at once, in groups; every second
// group is killed.
func storm(t *testing.T, s *serverProcess, total int) {
	t.Helper()
	const atOnce = 2
	group := min(125, max(total/4, 5))
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := 0; total > 0; i++ {
		task := stampedeTask{URL: s.url, Count: min(group, total), Kill: i%2 == 0}
		total -= task.Count
		text, err := json.Marshal(task)
		if err != nil {
			t.Fatal(err)
		}
		slots <- struct{}{}
		p := cachetest.Play(t, "stampede", string(text))
		wg.Go(func() {
			defer func() { <-slots }()
			if line, err := p.ReadLine(); err != nil || line != "connected" {
				t.Errorf("a process of the storm says %q, %v; %s", line, err, &p.Said)
				return
			}
			if task.Kill {
				p.Kill()
				return
			}
			_ = p.In.Close()
			if code := p.Exit(); code != 0 {
				t.Errorf("a polite process ended with %d: %s", code, &p.Said)
			}
		})
	}
	wg.Wait()
}

// calm is what a server has without clients.
type calm struct {
	serverReport
	cachetest.Inventory
}

// awaitCalm waits until the server has no clients, nothing that belongs to any,
// and no more than before of what can be counted.
func awaitCalm(t *testing.T, s *serverProcess, before *calm) *calm {
	t.Helper()
	var now calm
	look := func() bool {
		now.serverReport = s.report()
		var err error
		if now.Inventory, err = cachetest.TakeInventory(s.Pid()); err != nil {
			t.Fatal(err)
		}
		for purpose, bytes := range now.Usage {
			switch {
			case strings.HasPrefix(purpose, "mica"):
			case strings.HasPrefix(purpose, "tcp"): // those of the server's own queues stay
				if before != nil && bytes > before.Usage[purpose] {
					return false
				}
			case bytes != 0:
				return false
			}
		}
		return now.Clients == 0 && now.Maps == 0 &&
			(before == nil || now.Goroutines <= before.Goroutines && now.Files <= before.Files)
	}
	defer func() {
		if t.Failed() {
			t.Logf("it had %+v and has %+v", before, now)
		}
	}()
	if before != nil {
		cachetest.Await(t, "the server to be as before", look)
		return &now
	}
	// Without anything to compare with: until it does not become less.
	last, same := calm{}, 0
	cachetest.Await(t, "the server to come to rest", func() bool {
		if !look() {
			return false
		}
		if same++; now.Goroutines != last.Goroutines || now.Files != last.Files {
			same = 0
		}
		last = now
		return same > 20
	})
	return &now
}
