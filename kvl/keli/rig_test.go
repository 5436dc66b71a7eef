package keli_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/fabrictest"
	"github.com/remora-kv/remora/fabric/faults"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/keli"
	"github.com/remora-kv/remora/test/scale"
)

// fabrics are those that every test of the path runs on.
var fabrics = scale.Fabrics()

// emulated says that the machine is, so that everything is slow.
var emulated = false

// patience is how long tests wait for what must come.
const patience = 5 * time.Minute

// eachFabric runs f on every fabric.
func eachFabric(t *testing.T, f func(t *testing.T, r *rig)) {
	for _, name := range fabrics {
		t.Run(name, func(t *testing.T) { f(t, newRig(t, name)) })
	}
}

// andDisorder is eachFabric, and f again on loop where READs and WRITEs look at lines in any order.
func andDisorder(t *testing.T, f func(t *testing.T, r *rig)) {
	eachFabric(t, f)
	t.Run("disorder", func(t *testing.T) {
		plan, err := faults.ParsePlan(fmt.Sprintf("seed=%d; rc.shuffle=30%%; rc.replay=10%%", scale.Seed(t)))
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, provider.Loop)
		r.wrap = func(d fabric.Device) fabric.Device { return faults.Wrap(d, plan) }
		f(t, r)
	})
}

// rig is a server, and what is needed to connect to it.
type rig struct {
	testing.TB
	fabric string
	set    *provider.Set
	clock  *fabrictest.HandClock // nil: that of the devices
	wrap   func(fabric.Device) fabric.Device
	server *keli.Server
	listen fabric.Addr
	addr   fabric.Addr
}

func newRig(t testing.TB, name string) *rig {
	r := &rig{TB: t, fabric: name, set: provider.New()}
	r.listen = map[string]fabric.Addr{
		provider.Loop: {Fabric: provider.Loop, Name: "keli"},
		provider.Shm:  {Fabric: provider.Shm, Name: filepath.Join(t.TempDir(), "s")},
		provider.TCP:  {Fabric: provider.TCP, Name: "127.0.0.1:0"},
		provider.RDMA: {Fabric: provider.RDMA, Name: "127.0.0.1:0"},
	}[name]
	return r
}

// device opens a device that is closed at the end.
func (r *rig) device() fabric.Device {
	r.Helper()
	d, err := r.set.Open(r.fabric)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = d.Close() })
	if r.wrap != nil {
		d = r.wrap(d)
	}
	if r.clock != nil {
		return r.clock.Device(d)
	}
	return d
}

// serve starts a server, with an image if build is not nil.
func (r *rig) serve(cfg keli.Config, build keli.Build) *keli.Server {
	r.Helper()
	cfg.Device = r.device()
	s, err := keli.NewServer(cfg)
	if err != nil {
		r.Fatal(err)
	}
	r.server = s
	r.Cleanup(func() { _ = s.Close() })
	if build != nil {
		r.publish(build)
	}
	if r.addr, err = s.Listen(r.listen, fabric.ListenConfig{}); err != nil {
		r.Fatal(err)
	}
	r.listen = r.addr // a server that is started again is at the same place
	return s
}

func (r *rig) publish(build keli.Build) {
	r.Helper()
	if err := r.server.Publish(build); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) dial(opts ...keli.Option) *keli.Client {
	r.Helper()
	c, err := keli.Dial(r.ctx(), r.addr.String(), append([]keli.Option{keli.WithDevice(r.device())}, opts...)...)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = c.Close() })
	return c
}

func (r *rig) session(opts ...keli.Option) *keli.Session {
	r.Helper()
	s, err := r.dial(opts...).Session()
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = s.Close() })
	return s
}

// ctx ends when nothing more will come.
func (r *rig) ctx() context.Context {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	r.Cleanup(cancel)
	return ctx
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

// graph builds images in which every item has the stamp of its generation.
type graph struct {
	items  int
	links  func(i int) []int // of the list "to"
	single func(i int) int   // of the link "one"; negative nowhere
	fill   func(i int) int   // bytes of the attribute "fill"
	area   int
	inline int
}

func key(i int) []byte { return fmt.Appendf(nil, "item/%d", i) }

// number is the inverse of key.
func number(t testing.TB, it kvl.Item) int {
	t.Helper()
	var n int
	if _, err := fmt.Sscanf(string(it.Key()), "item/%d", &n); err != nil {
		t.Fatalf("key %q: %v", it.Key(), err)
	}
	return n
}

// build makes an image.
func (g *graph) build(cfg kvl.Config) (*kvl.Image, error) {
	cfg.AreaSize, cfg.Inline = g.area, g.inline
	b, err := kvl.NewBuilder(cfg)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	var typ, stamp, to, one, fill uint16
	for name, n := range map[string]*uint16{"node": &typ, "stamp": &stamp, "to": &to, "one": &one, "fill": &fill} {
		if *n, err = b.Name(name); err != nil {
			return nil, err
		}
	}
	for i := range g.items {
		b.Begin(typ, key(i))
		b.Bytes(stamp, binary.LittleEndian.AppendUint64(nil, cfg.Generation))
		if g.links != nil {
			b.List(to)
			for _, j := range g.links(i) {
				b.Add(key(j))
			}
		}
		if g.single != nil {
			if j := g.single(i); j < 0 {
				b.Link(one, nil)
			} else {
				b.Link(one, key(j))
			}
		}
		if g.fill != nil {
			b.Bytes(fill, filling(i, g.fill(i)))
		}
		if err := b.End(); err != nil {
			return nil, err
		}
	}
	return b.Seal(context.Background())
}

// filling is n bytes that only item i has.
func filling(i, n int) []byte {
	b := make([]byte, n)
	for j := range b {
		b[j] = byte(i*31 + j*7 + j>>8)
	}
	return b
}

// stampOf returns the generation that an item says it was built in.
func stampOf(t testing.TB, schema *kvl.Schema, it kvl.Item) uint64 {
	t.Helper()
	n, _ := schema.Number("stamp")
	b, ok := it.Bytes(n)
	if !ok || len(b) != 8 {
		t.Fatalf("item %q has no stamp", it.Key())
	}
	return binary.LittleEndian.Uint64(b)
}

// nameOf returns the number of a name.
func nameOf(t testing.TB, schema *kvl.Schema, name string) uint16 {
	t.Helper()
	n, ok := schema.Number(name)
	if !ok {
		t.Fatalf("no name %q", name)
	}
	return n
}
