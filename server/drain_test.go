package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/cachetest"
)

// stubborn is a client that sends without a pause, whatever it is told.
type stubborn struct {
	conn    *rfp.Conn
	id      int
	n       int
	acked   map[string]string // values that were acknowledged, by key
	refused map[string]bool   // values that were refused with Draining
	unknown map[string]bool   // without an answer

	yes, no atomic.Int64 // how many they are
}

// run sends until the connection is over.
func (s *stubborn) run() error {
	for {
		key, value := fmt.Sprint(s.id, "/", s.n%8), fmt.Sprint(s.id, "/", s.n)
		s.n++
		s.unknown[value] = true
		status, ok, err := s.put(key, value)
		if !ok {
			return err
		}
		delete(s.unknown, value)
		switch status {
		case command.OK:
			s.acked[key] = value
			s.yes.Add(1)
		case command.Draining:
			s.refused[value] = true
			s.no.Add(1)
		default:
			return fmt.Errorf("a put is answered with %v", status)
		}
	}
}

// put sends a put and waits for its answer; ok is false when the connection is
// over.
func (s *stubborn) put(key, value string) (status command.Status, ok bool, err error) {
	msg := request(command.Put, command.AppendPut(nil, key, []byte(value), &command.Store{}))
	if s.conn.Send(0, msg) != nil || !s.conn.Wait(cachetest.Watchdog) {
		if s.conn.Err() == nil {
			err = errors.New("no answer")
		}
		return 0, false, err
	}
	result, err, ok := s.conn.Next()
	if err != nil || !ok {
		return 0, false, err
	}
	_, status, err = command.ParseStored(result)
	return status, err == nil, err
}

// What was acknowledged before a drain is there, what is asked for during it is
// refused and does not happen, and it ends though clients never stop (V3).
func TestDrain(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		for _, engine := range realEngines {
			t.Run(engine, func(t *testing.T) {
				r := newRig(t, r.fabric)
				cfg := r.config()
				cfg.Engine, cfg.Cores = "kept "+engine, 1
				testDrain(t, r, r.start(cfg))
			})
		}
	})
}

func testDrain(t *testing.T, r *rig, s *server.Server) {
	clients := make([]*stubborn, 4)
	errs := make([]error, len(clients))
	var wg sync.WaitGroup
	for i := range clients {
		clients[i] = &stubborn{
			conn: r.raw(0), id: i,
			acked: map[string]string{}, refused: map[string]bool{}, unknown: map[string]bool{},
		}
		wg.Go(func() { errs[i] = clients[i].run() })
	}
	each := func(count func(s *stubborn) int64) bool {
		return !slices.ContainsFunc(clients, func(s *stubborn) bool { return count(s) < 50 })
	}
	cachetest.Await(t, "the clients to be under way", func() bool { return each(func(s *stubborn) int64 { return s.yes.Load() }) })
	drained := startDrain(s)
	defer drained.enough()
	// On a machine that gives clients no time they may seem to be quiet.
	cachetest.Await(t, "requests to be refused", func() bool {
		return drained.over() || each(func(s *stubborn) int64 { return s.no.Load() })
	})
	if _, err := remora.Dial(testContext(t), r.url, remora.WithDevice(r.device())); !errors.Is(err, remora.ErrUnavailable) {
		t.Errorf("a new client during the drain: %v", err)
	}
	drained.enough()
	if err := drained.wait(); err != nil {
		t.Errorf("Drain: %v", err)
	}
	wg.Wait()
	checkDrained(t, clients, errs, keptBy(s.Seed()))
}

// drain is a Drain under way.
type drain struct {
	enough context.CancelFunc
	done   chan struct{}
	err    error
}

func startDrain(s *server.Server) *drain {
	ctx, enough := context.WithCancel(context.Background())
	d := &drain{enough: enough, done: make(chan struct{})}
	go func() {
		defer close(d.done)
		d.err = s.Drain(ctx)
	}()
	return d
}

func (d *drain) over() bool {
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}

func (d *drain) wait() error {
	<-d.done
	return d.err
}

// checkDrained compares what clients were told with what the server had.
func checkDrained(t *testing.T, clients []*stubborn, errs []error, k *kept) {
	t.Helper()
	if k.open != 0 || k.broken != nil {
		t.Errorf("%d partitions are open, %v", k.open, k.broken)
	}
	for i, s := range clients {
		if errs[i] != nil {
			t.Errorf("client %d: %v", i, errs[i])
		}
		if len(s.acked) == 0 {
			t.Errorf("client %d: nothing was acknowledged", i)
		}
		for key, value := range s.acked {
			item, there := k.items[key]
			if !there || !bytes.Equal(item.Value, []byte(value)) && !s.unknown[string(item.Value)] {
				t.Errorf("%s was acknowledged with %s and is %q", key, value, item.Value)
			}
		}
	}
	for key, item := range k.items {
		for _, s := range clients {
			if s.refused[string(item.Value)] {
				t.Errorf("%s is %s, which was refused", key, item.Value)
			}
		}
	}
}

// Every procedure but stats is refused during a drain, and nothing changes.
func TestEveryProcedureIsRefusedDuringADrain(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		// A drain may end before all were tried, on a machine that gives clients no
		// time.
		for range 50 {
			if testRefusals(t, newRig(t, r.fabric)) {
				return
			}
		}
		t.Error("drains end at once")
	})
}

// testRefusals tries every procedure; false when the drain was over before.
func testRefusals(t *testing.T, r *rig) bool {
	cfg := r.config()
	cfg.Engine, cfg.Cores = "kept mica", 1
	s := r.start(cfg)
	version := mustSet(t, r.dial(), "k", "41", 0)
	conn := r.raw(0)
	status := func(op command.Proc, arg []byte) (command.Status, bool) {
		result, err := try(conn, request(op, arg))
		if err != nil || len(result) == 0 {
			return 0, false
		}
		return command.Status(result[len(result)-1]), true
	}
	drained := startDrain(s)
	defer drained.enough()
	for {
		got, ok := status(command.Get, []byte("none"))
		if !ok {
			return false
		}
		if got == command.Draining {
			break
		}
	}
	for op, arg := range map[command.Proc][]byte{
		command.Hello:  command.AppendHello(nil),
		command.Get:    []byte("k"),
		command.Put:    command.AppendPut(nil, "k", []byte("8"), &command.Store{}),
		command.Delete: command.AppendDelete(nil, "k", 0),
		command.Touch:  command.AppendTouch(nil, "k", 1),
		command.Incr:   command.AppendIncr(nil, "k", 1),
		command.Stats:  nil,
	} {
		got, ok := status(op, arg)
		if !ok {
			return false
		}
		if want := op == command.Stats; (got == command.OK) != want || !want && got != command.Draining {
			t.Errorf("%v during the drain: %v", op, got)
		}
	}
	drained.enough()
	if err := drained.wait(); err != nil {
		t.Errorf("Drain: %v", err)
	}
	if item := keptBy(s.Seed()).items["k"]; string(item.Value) != "41" || item.Version != version || item.Expires != 0 {
		t.Errorf("the item has become %+v", item)
	}
	return true
}

// Clients of ours leave by themselves, so that a drain ends without help; what
// they do meanwhile is unavailable, and was not done.
func TestDrainOfOurClients(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		cfg := r.config()
		cfg.Engine = "kept lru8"
		s := r.start(cfg)
		impatient := []remora.Option{remora.WithReconnectWait(0)}
		clients := []*remora.Client{r.dial(impatient...), r.dial(impatient...)}
		h := &cachetest.History{}
		var wg sync.WaitGroup
		var keys []string
		ctx := testContext(t)
		for i, c := range append(clients, clients...) {
			o := operations(c)
			if i >= len(clients) {
				o = session(t, c)
			}
			key := fmt.Sprint("of client ", i)
			keys = append(keys, key)
			wg.Go(func() {
				source := cachetest.NewSource(1, i, []string{key})
				for h.Count(cachetest.Unavailable) < 200 && ctx.Err() == nil {
					cachetest.Work(ctx, adapter{operations: o}, h, source, 10)
				}
			})
		}
		cachetest.Await(t, "the clients to be under way", func() bool { return h.Count(cachetest.OK) > 200 })
		if err := s.Drain(ctx); err != nil {
			t.Errorf("Drain: %v", err)
		}
		wg.Wait()
		if ctx.Err() != nil {
			t.Error("the drain had to be ended, or the clients did not notice")
		}
		cachetest.Linearizable(t, append(h.Operations(), finalReads(keptBy(s.Seed()), keys)...))
	})
}

// finalReads are reads of what a server left, after its end.
func finalReads(k *kept, keys []string) []cachetest.Operation {
	var ops []cachetest.Operation
	for _, key := range keys {
		now := cachetest.Now()
		o := cachetest.Outcome{Status: cachetest.NotFound}
		if item, there := k.items[key]; there {
			o = cachetest.Outcome{Value: string(item.Value), Version: item.Version}
		}
		ops = append(ops, cachetest.Operation{
			Call: cachetest.Call{Kind: cachetest.Get, Key: key}, Outcome: o, Start: now, End: now,
		})
	}
	return ops
}

// A server without clients, or with silent ones, drains at once; a second Drain
// and a Close after it do nothing.
func TestDrainOfSilentClients(t *testing.T) {
	for clients := range 3 {
		r := newRig(t, fabrics[0])
		s := r.start(r.config())
		for range clients {
			mustSet(t, r.dial(), "k", "v", 0)
		}
		for range 2 {
			if err := s.Drain(context.Background()); err != nil {
				t.Errorf("Drain with %d clients: %v", clients, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

// A drain in store mode is no different.
func TestDrainAndClose(t *testing.T) {
	r := newRig(t, fabrics[0])
	cfg := r.config()
	cfg.Mode = store.Store
	s := r.start(cfg)
	mustSet(t, r.dial(), "k", "v", 0)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { _ = s.Drain(context.Background()) })
		wg.Go(func() { _ = s.Close() })
	}
	wg.Wait()
}
