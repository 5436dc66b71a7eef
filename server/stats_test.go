package server_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/test/cachetest"
	"github.com/remora-kv/remora/test/scale"
)

// All that clients did is counted once, by the core that did it.
func TestStatistics(t *testing.T) {
	eachServer(t, func(t *testing.T, r *rig, cfg server.Config) {
		cfg, clock := stopped(cfg)
		s := r.start(cfg)
		c := r.dial()
		ss := session(t, c)
		const each = 15
		var wg sync.WaitGroup
		work := func(who string, o operations) {
			for i := range each {
				key := fmt.Sprint(who, i)
				countedWork(t, o, key)
			}
		}
		wg.Go(func() { work("a", c) })
		wg.Go(func() { work("b", c) })
		wg.Go(func() { work("c", ss) })
		wg.Wait()
		advance(t, clock, c, time.Second)
		before := stats(t, c)
		checkStatistics(t, s, c, before, 3*each)
		// A core tells about itself alone.
		for core := range cfg.Cores {
			key := keyOn(s, core, "only ")
			mustSet(t, c, key, "v", 0)
			after := stats(t, c)
			for i := range after {
				if grown := after[i].Ops["put"] - before[i].Ops["put"]; (grown == 1) != (i == core) {
					t.Errorf("a put at core %d is counted %d times by core %d", core, grown, i)
				}
			}
			before = after
		}
	})
}

// countedWork is 3 puts of which 2 succeed, 3 gets of which 2 hit, an incr, a touch and
// 2 deletes of which 1 succeeds; the key is there at the end.
func countedWork(t *testing.T, o operations, key string) {
	ctx := testContext(t)
	add := func() error {
		_, err := o.Put(ctx, key, remora.Entry{Value: []byte("5")}, remora.IfAbsent())
		return err
	}
	get := func() error {
		_, err := o.GetItem(ctx, key)
		return err
	}
	incr := func() error {
		_, err := o.Incr(ctx, key, 1)
		return err
	}
	del := func() error { return o.Delete(ctx, key) }
	for i, step := range []struct {
		do   func() error
		want error
	}{
		{get, remora.ErrNotFound},
		{add, nil},
		{add, remora.ErrExists},
		{get, nil},
		{get, nil},
		{incr, nil},
		{func() error { return o.Touch(ctx, key, time.Hour) }, nil},
		{del, nil},
		{del, remora.ErrNotFound},
		{add, nil},
	} {
		if err := step.do(); !isError(err, step.want) {
			t.Errorf("step %d on %s: %v", i, key, err)
		}
	}
}

// checkStatistics compares the statistics of all cores with n times the work.
func checkStatistics(t *testing.T, s *server.Server, c *remora.Client, cores []server.Stats, n int) {
	t.Helper()
	ops := map[string]uint64{}
	var sum server.Stats
	for i := range cores {
		st := &cores[i]
		for op, count := range st.Ops {
			ops[op] += count
		}
		if st.Core != i || st.Cores != len(cores) || st.Instance != c.Info().Instance || st.Engine != s.Config().Engine ||
			st.Mode != c.Info().Mode || st.Version != "test" || st.Poll != fabric.Adaptive.String() || st.UptimeMS != 1000 {
			t.Errorf("core %d says %+v", i, st)
		}
		a, b := &sum.Store, &st.Store
		a.Items, a.KeyBytes, a.ValueBytes = a.Items+b.Items, a.KeyBytes+b.KeyBytes, a.ValueBytes+b.ValueBytes
		a.Gets, a.Hits, a.Puts, a.Deletes = a.Gets+b.Gets, a.Hits+b.Hits, a.Puts+b.Puts, a.Deletes+b.Deletes
		a.Memory, a.Evicted, a.Refused = a.Memory+b.Memory, a.Evicted+b.Evicted, a.Refused+b.Refused
		checkCore(t, st)
	}
	u := uint64(n)
	for op, want := range map[string]uint64{"get": 3 * u, "put": 3 * u, "delete": 2 * u, "incr": u, "touch": u} {
		if ops[op] != want {
			t.Errorf("%d times %s instead of %d", ops[op], op, want)
		}
	}
	if hellos := ops["hello"]; hellos != uint64(2*len(cores)) {
		t.Errorf("%d hellos of two clients", hellos)
	}
	st := &sum.Store
	// An incr is a get and a put of the store.
	if st.Gets != 4*u || st.Hits != 3*u || st.Puts != 3*u || st.Deletes != u || st.Items != int64(n) || st.Evicted+st.Refused != 0 ||
		st.ValueBytes != int64(n) || st.KeyBytes < int64(2*n) || st.Memory != s.Config().Memory {
		t.Errorf("after %d times the work: %+v", n, *st)
	}
	checkServerStatistics(t, s, cores)
}

// checkCore compares the counts of one core with each other.
func checkCore(t *testing.T, st *server.Stats) {
	t.Helper()
	all, sessions := uint64(0), uint64(0)
	for _, op := range command.Procs() {
		all += st.Ops[op.String()]
	}
	for i := range st.Sessions {
		sessions += st.Sessions[i].Calls
	}
	if len(st.Ops) != len(command.Procs()) || all != st.RPC.Calls || sessions != st.RPC.Calls ||
		st.RPC.Clients != 2 || len(st.Sessions) != 2 || st.RPC.Connects != 2 || st.RPC.Disconnects != 0 ||
		st.RPC.Cut+st.RPC.Lost+st.RPC.Failures != 0 || st.RPC.Frames > st.RPC.Calls {
		t.Errorf("core %d has %d operations, %d calls of sessions, %+v", st.Core, all, sessions, st.RPC)
	}
	if st.Store.IndexBytes+st.Store.ItemBytes > st.Store.Memory || st.Store.ItemBytes < st.Store.KeyBytes+st.Store.ValueBytes {
		t.Errorf("core %d holds %+v", st.Core, st.Store)
	}
}

// checkServerStatistics checks what core 0 tells about the server, and nobody
// else.
func checkServerStatistics(t *testing.T, s *server.Server, cores []server.Stats) {
	t.Helper()
	first := &cores[0]
	if len(first.Listen) != 1 || first.Listen[0] != s.Addrs()[0].String() || len(first.Memory) == 0 || len(first.Fabrics) != 1 {
		t.Errorf("core 0 says %+v", first)
	}
	for i := range cores[1:] {
		if st := &cores[1+i]; len(st.Listen)+len(st.Memory)+len(st.Fabrics) != 0 {
			t.Errorf("core %d tells about the server: %+v", 1+i, st)
		}
	}
	total := int64(0)
	for _, u := range s.Usage() {
		i := slices.IndexFunc(first.Memory, func(m server.Memory) bool { return m.Purpose == u.Purpose })
		if i < 0 || first.Memory[i].Bytes != u.Bytes || first.Memory[i].Resident > u.Bytes+2*4096*int64(u.Blocks) { // blocks of Go memory begin and end in pages of others
			t.Errorf("%+v is not in %+v", u, first.Memory)
		}
		total += u.Bytes
	}
	if total == 0 || total > s.Config().Memory || first.RSS == 0 {
		t.Errorf("%d bytes of memory, allowed are %d; %d resident", total, s.Config().Memory, first.RSS)
	}
	f := first.Fabrics[0]
	if f.Fabric != s.Devices()[0].Fabric() || f.In["WRITE"] == 0 || f.InBytes == 0 || f.Errors != 0 {
		t.Errorf("the fabric: %+v", f)
	}
}

// Clients that come and go are counted, and of those that are there each is told
// once, with what it uses.
func TestStatisticsOfClients(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.start(r.config())
		for range 5 {
			if err := r.dial().Close(); err != nil {
				t.Error(err)
			}
		}
		c := r.dial(remora.WithBatch(7), remora.WithWindow(3), remora.WithPath(remora.PathReply))
		mustSet(t, c, "k", "v", 0)
		awaitClients(t, s, 2)
		for _, st := range stats(t, c) {
			if st.RPC.Connects != 6 || st.RPC.Disconnects != 5 || st.RPC.Clients != 1 || len(st.Sessions) != 1 {
				t.Errorf("core %d: %+v", st.Core, st.RPC)
				continue
			}
			me := st.Sessions[0]
			if me.Fabric != s.Devices()[0].Fabric() || me.Window != 3 || me.Batch != 7 || me.Replies == 0 || me.Memory == 0 || me.F == 0 {
				t.Errorf("core %d: the client is %+v", st.Core, me)
			}
		}
	})
}

// Statistics that are longer than a result come in pieces.
func TestStatisticsOfManyClients(t *testing.T) {
	r := newRig(t, fabrics[0])
	cfg := r.config()
	cfg.Cores = 1
	s := r.start(cfg)
	const n = 130
	var c *remora.Client
	for range n {
		c = r.dial()
	}
	awaitClients(t, s, n)
	docs, err := c.Stats(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	var st server.Stats
	if err := json.Unmarshal(docs[0], &st); err != nil {
		t.Fatal(err)
	}
	if len(st.Sessions) != n || st.RPC.Clients != n || len(docs[0]) <= 16<<10 {
		t.Errorf("%d bytes about %d sessions of %d clients", len(docs[0]), len(st.Sessions), st.RPC.Clients)
	}
}

// A report that was not asked for, or long ago, is not there, nor a core that is none.
func TestReportsThatAreNot(t *testing.T) {
	r := newRig(t, fabrics[0])
	s := r.start(r.config())
	first := server.BeginReport(s)
	for range 6 {
		stats(t, r.dial())
	}
	last := server.BeginReport(s)
	cachetest.Await(t, "a report", func() bool { text, ok := server.ReportText(s, last, 0); return ok && len(text) != 0 })
	for _, c := range []struct {
		number uint64
		core   uint32
	}{{0, 0}, {first, 0}, {last + 1, 0}, {last, 2}, {1 << 63, 0}} {
		if text, ok := server.ReportText(s, c.number, c.core); ok {
			t.Errorf("report %d of core %d is there: %s", c.number, c.core, text)
		}
	}
}

// The statistics can be asked for while everything else goes on.
func TestStatisticsUnderLoad(t *testing.T) {
	r := newRig(t, fabrics[0])
	r.start(r.config())
	h := &cachetest.History{}
	var wg sync.WaitGroup
	for i := range 3 {
		c := r.dial()
		wg.Go(func() {
			cachetest.Work(testContext(t), adapter{operations: c}, h, cachetest.NewSource(1, i, cachetest.Keys(4)), scale.Times(400))
		})
	}
	asker := r.dial()
	last := uint64(0)
	for range scale.Times(50) {
		calls := uint64(0)
		for _, st := range stats(t, asker) {
			calls += st.RPC.Calls
		}
		if calls < last {
			t.Errorf("%d calls after %d", calls, last)
		}
		last = calls
	}
	wg.Wait()
	cachetest.Linearizable(t, h.Operations())
}
