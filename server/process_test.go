package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/faults"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/test/cachetest"
)

// serverTask is what a server process is told.
type serverTask struct {
	URL    string
	Engine string
	Cores  int
	Memory int64 // testMemory if it does not say
	Links  bool
}

// serverReport is what it says when it is asked, beside what /proc tells.
type serverReport struct {
	Clients    int
	Goroutines int
	Usage      map[string]int64 // bytes by purpose: partitions and devices
	Counts     uint64           // of calls
}

// serverProcess is a server in a process of its own.
type serverProcess struct {
	*cachetest.Process
	t   testing.TB
	url string
}

// startServer starts a server process.
func startServer(t testing.TB, task serverTask) *serverProcess {
	t.Helper()
	text, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	p := cachetest.Play(t, "server", string(text))
	return &serverProcess{Process: p, t: t, url: p.Line()}
}

// report asks the server about itself.
func (p *serverProcess) report() serverReport {
	p.t.Helper()
	p.Tell("report")
	var r serverReport
	if err := json.Unmarshal([]byte(p.Line()), &r); err != nil {
		p.t.Fatal(err)
	}
	return r
}

// serverRole is the process: it says its address, then a report for each line,
// and ends with its input.
func serverRole() error {
	var task serverTask
	if err := json.Unmarshal([]byte(os.Args[1]), &task); err != nil {
		return err
	}
	if task.Memory == 0 {
		task.Memory = testMemory
	}
	s, err := server.Start(server.Config{
		Listen: []string{task.URL}, Engine: task.Engine, Cores: task.Cores, Memory: task.Memory, Links: task.Links,
		Providers: provider.New(),
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, s.Addrs()[0])
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if err := json.NewEncoder(os.Stdout).Encode(describeServer(s)); err != nil {
			return err
		}
	}
	return s.Close()
}

func describeServer(s *server.Server) serverReport {
	runtime.GC()
	debug.FreeOSMemory()
	clients, calls := s.Traffic()
	r := serverReport{Clients: clients, Goroutines: runtime.NumGoroutine(), Usage: map[string]int64{}, Counts: calls}
	for _, u := range s.Usage() {
		r.Usage[u.Purpose] += u.Bytes
	}
	for _, d := range s.Devices() {
		for _, u := range d.Memory() {
			r.Usage[u.Purpose] += u.Bytes
		}
	}
	return r
}

// clientsTask is what a process with clients is told.
type clientsTask struct {
	URL    string
	Seed   uint64
	First  int // number of its first client
	Each   int // operations of each
	Keys   int
	Faults string
}

// clientsRole is the process: it writes a history of a client with two goroutines,
// a session, one with a window, a client of herd and one of sendrecv.
func clientsRole() error {
	var task clientsTask
	if err := json.Unmarshal([]byte(os.Args[1]), &task); err != nil {
		return err
	}
	j := cachetest.NewWriter(os.Stdout)
	ctx, cancel := context.WithTimeout(context.Background(), cachetest.Watchdog)
	defer cancel()
	dev, err := openFaulty(provider.New(), task.URL, task.Faults)
	if err != nil {
		return err
	}
	c, err := insist(ctx, func() (*remora.Client, error) {
		return remora.Dial(ctx, task.URL, append(patient(), remora.WithDevice(dev))...)
	})
	if err != nil {
		return err
	}
	ss, err := insist(ctx, func() (*remora.Session, error) { return c.Session(ctx) })
	if err != nil {
		return err
	}
	ahead, err := insist(ctx, func() (*remora.Session, error) {
		return c.Session(ctx, remora.WithWindow(4), remora.WithBatch(3))
	})
	if err != nil {
		return err
	}
	byHerd, err := insist(ctx, func() (*remora.Client, error) {
		return remora.Dial(ctx, task.URL, append(patient(), remora.WithDevice(dev), remora.WithPath(remora.PathHerd))...)
	})
	if err != nil {
		return err
	}
	bySendRecv, err := insist(ctx, func() (*remora.Client, error) {
		return remora.Dial(ctx, task.URL, append(patient(), remora.WithDevice(dev), remora.WithPath(remora.PathSendRecv))...)
	})
	if err != nil {
		return err
	}
	keys := cachetest.Keys(task.Keys)
	var wg sync.WaitGroup
	for i, cache := range []cachetest.Cache{
		adapter{operations: c},
		adapter{operations: c},
		adapter{operations: ss},
		adapter{operations: byHerd},
		adapter{operations: bySendRecv},
	} {
		wg.Go(func() { cachetest.Work(ctx, cache, j, cachetest.NewSource(task.Seed, task.First+i, keys), task.Each) })
	}
	wg.Go(func() {
		cachetest.WorkAhead(ctx, &pipe{Session: ahead}, j, cachetest.NewSource(task.Seed, task.First+clientsOf-1, keys), task.Each, 6)
	})
	wg.Wait()
	return j.Err()
}

// insist connects on a network that refuses now and then.
func insist[T any](ctx context.Context, connect func() (T, error)) (T, error) {
	for {
		made, err := connect()
		if !errors.Is(err, remora.ErrUnavailable) || ctx.Err() != nil {
			return made, err
		}
	}
}

// clientsOf is how many clients such a process has.
const clientsOf = 6

// patient are the options of clients that live through broken connections.
func patient() []remora.Option {
	return []remora.Option{remora.WithBackoff(time.Millisecond, 8*time.Millisecond), remora.WithReconnectWait(cachetest.Watchdog)}
}

// openFaulty opens a device for an address, on a network as bad as the plan says.
func openFaulty(set *provider.Set, url, plan string) (fabric.Device, error) {
	p, err := faults.ParsePlan(plan)
	if err != nil {
		return nil, err
	}
	dev, err := set.Open(url)
	if err != nil {
		return nil, err
	}
	return faults.Wrap(dev, p), nil
}
