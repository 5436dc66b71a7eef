package server_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc/herd"
	"github.com/remora-kv/remora/test/cachetest"
	"github.com/remora-kv/remora/test/scale"
)

func init() { roles["herd"] = herdRole }

// herdTask is what a process with clients of herd is told.
type herdTask struct {
	URL   string
	Count int
	Keys  []string // that it asks for and never takes the answers
}

// herdRole connects many times by herd, fills every window with requests, says so and
// goes on asking until it is killed.
func herdRole() error {
	var task herdTask
	if err := json.Unmarshal([]byte(os.Args[1]), &task); err != nil {
		return err
	}
	dev, err := provider.New().Open(task.URL)
	if err != nil {
		return err
	}
	addr, err := fabric.ParseAddr(task.URL)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), cachetest.Watchdog)
	defer cancel()
	conns := make([]*herd.Conn, task.Count)
	for i := range conns {
		if conns[i], err = herd.Dial(ctx, addr, herd.ConnConfig{Device: dev, Window: 1 + 5*(i%4)}); err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
	}
	for round := 0; ctx.Err() == nil; round++ {
		for i, c := range conns {
			for core := range c.Cores() {
				key := task.Keys[(round+i)%len(task.Keys)]
				_ = c.CoreConn(core).Send(uint64(i), append(binary.LittleEndian.AppendUint16(nil, uint16(command.Get)), key...))
				if i%2 == 0 {
					_, _, _ = c.CoreConn(core).Next()
				}
			}
			if c.Poll(); c.Err() != nil {
				return c.Err()
			}
		}
		if round == 50 {
			fmt.Fprintln(os.Stdout, "under way")
		}
	}
	return ctx.Err()
}

// keyedClient is a client of herd with a key of its own, whose value nobody else has.
type keyedClient struct {
	*herdClient
	key   string
	value []byte
}

// use changes and gets the value again and again: nothing comes back but what it is.
func (g *keyedClient) use(rounds int) error {
	for i := range rounds {
		g.value = fmt.Appendf(g.value[:0], "%s, change %d", g.key, i)
		if err := g.put(g.key, g.value); err != nil {
			return err
		}
		for range 3 {
			if item, status, err := g.get(g.key); err != nil || status != command.OK || !bytes.Equal(item.Value, g.value) {
				return fmt.Errorf("%s: %q, %v, %w", g.key, item.Value, status, err)
			}
		}
	}
	return nil
}

// Processes with many clients of herd are killed in the middle of everything while others
// work and new clients take their places: nobody gets what the dead have asked for, and
// the server, whose cores have one datagram queue pair each, keeps nothing of them.
func TestKilledHerdClients(t *testing.T) {
	rounds, crowd := 6, 40
	if testing.Short() || scale.Race {
		rounds, crowd = 3, 12
	}
	for _, name := range across {
		t.Run(name, func(t *testing.T) { testKilledHerdClients(t, name, scale.Times(rounds), scale.Times(crowd)) })
	}
}

func testKilledHerdClients(t *testing.T, name string, rounds, crowd int) {
	runtimeDir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", runtimeDir)
	r := newRig(t, name)
	s := r.start(r.config())
	c := r.dial()
	keys := make([]string, 8)
	for i := range keys {
		keys[i] = fmt.Sprint("of the dead ", i)
		mustSet(t, c, keys[i], keys[i], 0)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	control := &keyedClient{herdClient: r.dialHerd(r.device()), key: "of the control"}
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				if err := control.use(10); err != nil {
					t.Errorf("the control: %v", err)
					return
				}
			}
		}
	}()
	task, err := json.Marshal(herdTask{URL: r.url, Count: crowd, Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	dev := r.device()
	for round := range rounds {
		p := cachetest.Play(t, "herd", string(task))
		if line := p.Line(); line != "under way" {
			t.Fatalf("%q; %s", line, &p.Said)
		}
		p.Kill()
		testNewClients(t, r, dev, round, crowd/4)
	}
	close(stop)
	<-done
	cachetest.Await(t, "the places of the dead to be free", func() bool { return s.HerdStats().Clients == 1 })
	st := s.HerdStats()
	if want := uint64(rounds*(crowd+crowd/4) + 1); st.Connects != want || st.Disconnects != want-1 || st.Cut+st.CutByReplyQP != 0 {
		t.Errorf("%+v", st)
	}
	for _, d := range s.Devices() { // beside what the client of rfp has
		for _, u := range d.Memory() {
			if u.Purpose == "herd replies" && u.Blocks != 1 {
				t.Errorf("%d clients have reply memory", u.Blocks)
			}
		}
	}
	if left, err := filepath.Glob(filepath.Join(runtimeDir, "*")); err != nil || len(left) > 3 { // of two devices here and the last process
		t.Errorf("%d directories are left of %d processes, %v", len(left), rounds, err)
	}
}

// testNewClients connects clients that come at once, work and leave.
func testNewClients(t *testing.T, r *rig, dev fabric.Device, round, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range n {
		g := &keyedClient{herdClient: r.dialHerd(dev), key: fmt.Sprint("of new client ", round, " ", i)}
		wg.Go(func() {
			if err := g.use(5); err != nil {
				t.Error(err)
			}
			_ = g.conn.Close()
		})
	}
	wg.Wait()
}
