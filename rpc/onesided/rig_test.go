package onesided_test

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc/internal/serving"
	"github.com/remora-kv/remora/rpc/onesided"
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/scale"
)

// fabrics are those that every test of the path runs on.
var fabrics = scale.Fabrics()

// patience is how long tests wait for what must come.
const patience = 2 * time.Minute

// eachFabric runs f on every fabric.
func eachFabric(t *testing.T, f func(t *testing.T, r *rig)) {
	for _, name := range fabrics {
		t.Run(name, func(t *testing.T) { f(t, newRig(t, name)) })
	}
}

// rig is a server with toys, and what is needed to connect to it.
type rig struct {
	*testing.T
	fabric string
	set    *provider.Set
	device fabric.Device // of the server
	server *onesided.Server
	accept *serving.Acceptor
	addr   fabric.Addr
	toys   []*toy
}

func newRig(t *testing.T, name string) *rig {
	r := &rig{T: t, fabric: name, set: provider.New()}
	r.device = r.newDevice()
	return r
}

// newDevice opens a device that is closed at the end.
func (r *rig) newDevice() fabric.Device {
	r.Helper()
	d, err := r.set.Open(r.fabric)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = d.Close() })
	return d
}

// serve starts a server with some toys.
func (r *rig) serve(toys int, cfg onesided.ServerConfig) {
	r.Helper()
	r.make(toys, cfg)
	r.open()
}

// make makes a server that is not open yet.
func (r *rig) make(toys int, cfg onesided.ServerConfig) {
	r.Helper()
	cfg.Device, cfg.Instance = r.device, 42
	var err error
	if r.server, err = onesided.NewServer(cfg); err != nil {
		r.Fatal(err)
	}
	for range toys {
		toy, err := newToy(r.server.Arena())
		if err != nil {
			r.Fatal(err)
		}
		r.toys = append(r.toys, toy)
	}
	r.accept = serving.NewAcceptor(&serving.Config{
		Path: "onesided", Devices: []fabric.Device{r.device}, MaxClients: 1, Log: slog.New(slog.DiscardHandler),
		Admit: func(_ context.Context, dev fabric.Device, req fabric.ConnRequest) error {
			if !r.server.TryAdmit(dev, req) {
				return errors.New("for nobody")
			}
			return nil
		},
	})
	r.Cleanup(r.end)
	if r.addr, err = r.accept.Listen(r.device, r.listenAddr(), fabric.ListenConfig{}); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) open() {
	r.Helper()
	var tables []store.Export
	for _, t := range r.toys {
		tables = append(tables, t.export())
	}
	if err := r.server.Open(tables); err != nil {
		r.Fatal(err)
	}
}

// end ends the server in its order.
func (r *rig) end() {
	if r.server == nil {
		return
	}
	_ = r.accept.Close()
	if err := r.server.Close(); err != nil {
		r.Error(err)
	}
	for _, t := range r.toys {
		if err := t.free(); err != nil {
			r.Error(err)
		}
	}
	if err := r.server.Release(); err != nil {
		r.Error(err)
	}
	r.server = nil
}

func (r *rig) listenAddr() fabric.Addr {
	return map[string]fabric.Addr{
		provider.Loop: {Fabric: provider.Loop, Name: "onesided"},
		provider.Shm:  {Fabric: provider.Shm, Name: filepath.Join(r.TempDir(), "s")},
		provider.TCP:  {Fabric: provider.TCP, Name: "127.0.0.1:0"},
		provider.RDMA: {Fabric: provider.RDMA, Name: "127.0.0.1:0"},
	}[r.fabric]
}

// tryDial connects.
func (r *rig) tryDial(cfg onesided.ConnConfig) (*onesided.Conn, error) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	if cfg.Device == nil {
		cfg.Device = r.newDevice()
	}
	if cfg.NewFinder == nil {
		cfg.NewFinder = newFinder
	}
	return onesided.Dial(ctx, r.addr, cfg)
}

// dial connects, and closes the connection at the end.
func (r *rig) dial(cfg onesided.ConnConfig) *onesided.Conn {
	r.Helper()
	c, err := r.tryDial(cfg)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = c.Close() })
	return c
}

// search looks for a hash and returns what came of it.
func (r *rig) search(c *onesided.Conn, hash uint64) (store.Item, store.Outcome) {
	r.Helper()
	if err := c.Start(key(hash)); err != nil {
		r.Fatal(err)
	}
	return r.next(c)
}

// next waits for the next outcome.
func (r *rig) next(c *onesided.Conn) (store.Item, store.Outcome) {
	r.Helper()
	for {
		if item, o, ok := c.Next(); ok {
			return item, o
		}
		if !c.Wait(patience) || c.Err() != nil {
			r.Fatalf("no outcome: %v", c.Err())
		}
	}
}

func key(hash uint64) store.Key {
	return store.Key{Hash: hash, Bytes: binary.LittleEndian.AppendUint64(nil, hash)}
}

// value is a value that says to which hash and version it belongs.
func value(hash, version uint64) (v [toyValue]byte) {
	binary.LittleEndian.PutUint64(v[:], hash)
	binary.LittleEndian.PutUint64(v[8:], version)
	binary.LittleEndian.PutUint64(v[16:], hash^version)
	return v
}

// eventually waits until f is true.
func (r *rig) eventually(what string, f func() bool) {
	r.Helper()
	for end := time.Now().Add(patience); !f(); {
		if time.Now().After(end) {
			r.Fatalf("%s: not after %v", what, patience)
		}
		<-time.After(time.Millisecond)
	}
}
