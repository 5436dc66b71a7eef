package remora_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/faults"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/herd"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/rpc/sendrecv"
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/cachetest"
	"github.com/remora-kv/remora/test/scale"
)

func TestMain(m *testing.M) { cachetest.Main(m) }

// watchdog bounds what must happen; nothing is measured by it.
const watchdog = cachetest.Watchdog

// fabrics are those that need nothing installed.
var fabrics = scale.Fabrics()

// rig is a place for a server, and a network for clients.
type rig struct {
	t      testing.TB
	fabric string
	set    *provider.Set
	addr   fabric.Addr
}

func newRig(t testing.TB, name string) *rig {
	r := &rig{t: t, fabric: name, set: provider.New()}
	r.addr = map[string]fabric.Addr{
		provider.Loop: {Fabric: provider.Loop, Name: "cache"},
		provider.Shm:  {Fabric: provider.Shm, Name: filepath.Join(t.TempDir(), "s")},
		provider.TCP:  {Fabric: provider.TCP, Name: "127.0.0.1:0"},
	}[name]
	return r
}

// device opens a device that is closed at the end.
func (r *rig) device() fabric.Device {
	r.t.Helper()
	d, err := r.set.Open(r.fabric)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = d.Close() })
	return d
}

// dial connects a client on a device of its own.
func (r *rig) dial(opts ...remora.Option) *remora.Client {
	r.t.Helper()
	return r.dialOn(r.device(), opts...)
}

// faulty is a device whose connections can be broken.
func (r *rig) faulty(plan string) *faults.Device {
	r.t.Helper()
	p, err := faults.ParsePlan(plan)
	if err != nil {
		r.t.Fatal(err)
	}
	return faults.Wrap(r.device(), p)
}

func (r *rig) dialOn(dev fabric.Device, opts ...remora.Option) *remora.Client {
	r.t.Helper()
	c, err := remora.Dial(testContext(r.t), r.addr.String(), append([]remora.Option{remora.WithDevice(dev), remora.WithDialTimeout(watchdog)}, opts...)...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
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
	ctx, cancel := context.WithTimeout(context.Background(), watchdog)
	t.Cleanup(cancel)
	return ctx
}

// await waits for something that will be.
func await(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(watchdog); !is(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// cache is a server with maps for partitions, which can be made to misbehave.
type cache struct {
	rig      *rig
	welcome  command.Welcome
	srv      *rfp.Server
	herd     *herd.Server
	sendrecv *sendrecv.Server
	dev      fabric.Device
	seed     atomic.Uint64 // of the map: it begins as that of welcome
	parts    []partition
	served   [16]atomic.Int64
	reports  atomic.Uint64 // that were begun
	asked    atomic.Uint64 // for beginnings of reports
	// Before, when not nil, may answer a request itself.
	before func(core int, op command.Proc, arg, out []byte) ([]byte, error, bool)
	closed sync.Once
	most   int // clients on a core
}

// partition belongs to its core.
type partition struct {
	items   map[string]command.Item
	version uint64
}

// change changes a server before it starts.
type change func(*cache)

func cores(n int) change { return func(c *cache) { c.welcome.Cores = n } }

func clients(n int) change { return func(c *cache) { c.most = n } }

func maxValue(n int) change { return func(c *cache) { c.welcome.MaxValue = n } }

func before(f func(core int, op command.Proc, arg, out []byte) ([]byte, error, bool)) change {
	return func(c *cache) { c.before = f }
}

var instances atomic.Uint64

// serve starts a server at the rig's address.
func (r *rig) serve(changes ...change) *cache {
	r.t.Helper()
	n := instances.Add(1)
	c := &cache{rig: r, welcome: command.Welcome{
		Protocol: command.Protocol, Version: "test", Instance: n, Seed: n * 0x9E3779B97F4A7C15, Cores: 1,
		MaxKey: command.MaxKey, MaxValue: 1 << 20, Engine: "map", Mode: "store", Fabric: r.fabric, Paths: []string{"rfp", "reply", "herd", "sendrecv"},
	}}
	for _, f := range changes {
		f(c)
	}
	c.seed.Store(c.welcome.Seed)
	c.parts = make([]partition, c.welcome.Cores)
	for i := range c.parts {
		c.parts[i] = partition{items: map[string]command.Item{}, version: n * 1000}
	}
	dev, err := r.set.Open(r.fabric)
	if err != nil {
		r.t.Fatal(err)
	}
	c.dev = dev
	c.herd, err = herd.NewServer(herd.ServerConfig{
		Devices: []fabric.Device{dev}, Cores: c.welcome.Cores, Serve: c.serve, MaxClients: c.most,
		Wake: func(core int) { c.srv.Wake(core) },
	})
	if err != nil {
		r.t.Fatal(err)
	}
	c.sendrecv, err = sendrecv.NewServer(sendrecv.ServerConfig{
		Devices: []fabric.Device{dev}, Cores: c.welcome.Cores, Serve: c.serve, MaxClients: c.most,
		Wake: func(core int) { c.srv.Wake(core) },
	})
	if err != nil {
		r.t.Fatal(err)
	}
	cfg := rfp.ServerConfig{
		Device: dev, Cores: c.welcome.Cores, Serve: c.serve, MaxClients: c.most,
		MaxMessage: c.welcome.MaxValue + command.MaxKey + 64, Admit: c.admit,
	}
	for core := range cfg.Cores {
		cfg.Pollers = append(cfg.Pollers, []rpc.Poller{c.herd.Poller(core), c.sendrecv.Poller(core)})
	}
	if c.srv, err = rfp.NewServer(cfg); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.close)
	if r.addr, err = c.srv.Listen(r.addr, fabric.ListenConfig{}); err != nil {
		r.t.Fatal(err)
	}
	return c
}

// admit gives a connection request to the guest that it is for.
func (c *cache) admit(dev fabric.Device, req fabric.ConnRequest) bool {
	return c.herd.TryAdmit(dev, req) || c.sendrecv.TryAdmit(dev, req)
}

// close ends the server.
func (c *cache) close() {
	c.closed.Do(func() {
		_ = c.srv.Close()
		_ = c.herd.Close()
		_ = c.sendrecv.Close()
		_ = c.dev.Close()
	})
}

func (c *cache) serve(call *rpc.Call, msg, out []byte) ([]byte, error) {
	if len(msg) < rpc.ProcSize {
		return out, &rpc.Error{Code: rpc.CodeMalformed}
	}
	op, arg := command.Proc(msg[0])|command.Proc(msg[1])<<8, msg[rpc.ProcSize:]
	if int(op) < len(c.served) {
		c.served[op].Add(1)
	}
	if c.before != nil {
		if out, err, ok := c.before(call.Core, op, arg, out); ok {
			return out, err
		}
	}
	p := &c.parts[call.Core]
	switch op {
	case command.Hello:
		w := c.welcome
		w.Core, w.Seed = call.Core, c.seed.Load()
		text, err := json.Marshal(w)
		return command.AppendStatus(append(out, text...), command.OK), err
	case command.Stats:
		return c.stats(arg, out)
	case command.Get:
		return c.get(call.Core, p, arg, out), nil
	case command.Put:
		return c.put(call.Core, p, arg, out)
	default:
		return c.change(call.Core, p, op, arg, out)
	}
}

// stats answers with a piece of a few bytes, and not before it was asked for twice.
func (c *cache) stats(arg, out []byte) ([]byte, error) {
	p, begin, err := command.ParseStats(arg)
	switch {
	case err != nil:
		return out, err
	case begin:
		return command.AppendReport(out, c.reports.Add(1)<<1), nil
	case p.Offset == 0 && c.asked.Add(1)%2 == 1:
		return command.AppendPiece(out, nil, 0, 0), nil
	}
	return command.AppendPiece(out, fmt.Appendf(nil, `{"core":%d,"report":%d}`, p.Core, p.Report), p.Offset, 7), nil
}

// mine reports whether the core has the key.
func (c *cache) mine(core int, key []byte) bool {
	return store.PartitionOf(store.Seed(c.seed.Load()).Hash(key), c.welcome.Cores) == core
}

func (c *cache) get(core int, p *partition, key, out []byte) []byte {
	item, ok := p.items[string(key)]
	switch {
	case !c.mine(core, key):
		return command.AppendStatus(out, command.WrongCore)
	case !ok:
		return command.AppendStatus(out, command.NotFound)
	}
	return command.AppendFound(out, &item)
}

func (c *cache) put(core int, p *partition, arg, out []byte) ([]byte, error) {
	s, err := command.ParsePut(arg)
	if err != nil {
		return out, &rpc.Error{Code: rpc.CodeMalformed}
	}
	old, there := p.items[string(s.Key)]
	status := command.OK
	switch {
	case !c.mine(core, s.Key):
		status = command.WrongCore
	case s.Condition == command.IfAbsent && there:
		status = command.Exists
	case (s.Condition == command.IfPresent || s.Condition == command.IfVersion) && !there:
		status = command.NotFound
	case s.Condition == command.IfVersion && old.Version != s.Version:
		status = command.Changed
	}
	if status != command.OK {
		return command.AppendStatus(out, status), nil
	}
	return command.AppendStored(out, p.put(s.Key, s.Value, s.Flags, s.TTL)), nil
}

func (p *partition) put(key, value []byte, flags uint32, ttl uint64) uint64 {
	p.version++
	p.items[string(key)] = command.Item{Value: append([]byte(nil), value...), Version: p.version, Flags: flags, TTL: ttl}
	return p.version
}

func (c *cache) change(core int, p *partition, op command.Proc, arg, out []byte) ([]byte, error) {
	var key []byte
	var version, ttl uint64
	var delta int64
	var err error
	switch op {
	case command.Delete:
		key, version, err = command.ParseDelete(arg)
	case command.Touch:
		key, ttl, err = command.ParseTouch(arg)
	case command.Incr:
		key, delta, err = command.ParseIncr(arg)
	default:
		return out, &rpc.Error{Code: rpc.CodeNoProcedure}
	}
	if err != nil {
		return out, &rpc.Error{Code: rpc.CodeMalformed}
	}
	item, ok := p.items[string(key)]
	switch {
	case !c.mine(core, key):
		return command.AppendStatus(out, command.WrongCore), nil
	case !ok:
		return command.AppendStatus(out, command.NotFound), nil
	case version != 0 && item.Version != version:
		return command.AppendStatus(out, command.Changed), nil
	}
	switch op {
	case command.Delete:
		delete(p.items, string(key))
	case command.Touch:
		item.TTL = ttl
		p.items[string(key)] = item
	default:
		n, bad := strconv.ParseInt(string(item.Value), 10, 64)
		if bad != nil {
			return command.AppendStatus(out, command.NotNumber), nil // it is an answer
		}
		text := strconv.AppendInt(nil, n+delta, 10)
		return command.AppendCounted(out, n+delta, p.put(key, text, item.Flags, item.TTL)), nil
	}
	return command.AppendStatus(out, command.OK), nil
}

// count returns how many requests of a kind were served.
func (c *cache) count(op command.Proc) int { return int(c.served[op].Load()) }

// gate is a handler that holds requests of one kind until it is opened.
type gate struct {
	op      command.Proc
	entered chan struct{}
	open    chan struct{}
	once    sync.Once
}

func newGate(t testing.TB, op command.Proc) *gate {
	g := &gate{op: op, entered: make(chan struct{}, 1024), open: make(chan struct{})}
	t.Cleanup(g.release)
	return g
}

func (g *gate) release() { g.once.Do(func() { close(g.open) }) }

func (g *gate) before(_ int, op command.Proc, _, out []byte) ([]byte, error, bool) {
	if op == g.op {
		select {
		case <-g.open:
		default:
			g.entered <- struct{}{}
			<-g.open
		}
	}
	return out, nil, false
}

// logbook keeps what is logged.
type logbook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logbook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logbook) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(io.Writer(l), &slog.HandlerOptions{Level: level}))
}

// keyOn returns a key that belongs to a core.
func (c *cache) keyOn(core int, prefix string) string {
	for i := 0; ; i++ {
		if key := prefix + strconv.Itoa(i); c.mine(core, []byte(key)) {
			return key
		}
	}
}
