// Package rpctest is what the tests of the paths below rpc share: a rig on every fabric, procedures
// to call, and loads that check every result.
package rpctest

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/faults"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/test/scale"
)

// Patience is how long tests wait for what must come.
const Patience = 2 * time.Minute

var fabrics = scale.Fabrics()

// Fabrics returns the names of the fabrics that every test of a path runs on.
func Fabrics() []string { return fabrics }

// EachFabric runs f on every fabric, and, beside loop, on one that promises no order.
func EachFabric(t *testing.T, f func(t *testing.T, r *Rig)) {
	for _, name := range fabrics {
		t.Run(name, func(t *testing.T) { f(t, New(t, name)) })
	}
	if slices.Contains(fabrics, provider.Loop) {
		t.Run("disorder", func(t *testing.T) { f(t, Disorder(t)) })
	}
}

// Disorder returns a rig on loop, whose devices read and write lines in any order.
func Disorder(t testing.TB) *Rig {
	r := New(t, provider.Loop)
	r.Plan = fmt.Sprintf("seed=%d; rc.shuffle=30%%; rc.replay=10%%; uc.shuffle=30%%", scale.Seed(t))
	return r
}

// Rig is what a server and its clients need.
type Rig struct {
	testing.TB
	Fabric string
	Set    *provider.Set
	Device fabric.Device // of the server
	Listen fabric.Addr   // where the server listens
	Addr   fabric.Addr   // where it can be reached
	Mux    rpc.Mux
	Plan   string           // of faults, for devices that are opened
	Wraps  []*faults.Device // those that were opened with a plan
}

// The procedures of every rig.
const (
	Echo   uint16 = 1 + iota
	Double        // the argument, twice
	Fail          // with the argument as text, and its length in the code
	After         // the argument, not appended, and "behind" as what follows
)

// New returns a rig on a fabric.
func New(t testing.TB, name string) *Rig {
	r := &Rig{TB: t, Fabric: name, Set: provider.New()}
	r.Listen = map[string]fabric.Addr{
		provider.Loop: {Fabric: provider.Loop, Name: "server"},
		provider.Shm:  {Fabric: provider.Shm, Name: filepath.Join(t.TempDir(), "s")},
		provider.TCP:  {Fabric: provider.TCP, Name: "127.0.0.1:0"},
		provider.RDMA: {Fabric: provider.RDMA, Name: "127.0.0.1:0"},
	}[name]
	r.Mux.Handle(Echo, func(c *rpc.Call, out []byte) ([]byte, error) { return append(out, c.Request...), nil })
	r.Mux.Handle(Double, func(c *rpc.Call, out []byte) ([]byte, error) {
		return append(append(out, c.Request...), c.Request...), nil
	})
	r.Mux.Handle(Fail, func(c *rpc.Call, out []byte) ([]byte, error) {
		return out, &rpc.Error{Code: rpc.CodeUser + uint16(len(c.Request)), Text: string(c.Request)}
	})
	r.Mux.Handle(After, func(c *rpc.Call, _ []byte) ([]byte, error) {
		c.After = []byte("behind")
		return c.Request, nil
	})
	return r
}

// NewDevice opens a device that is closed at the end.
func (r *Rig) NewDevice() fabric.Device {
	r.Helper()
	d, err := r.Set.Open(r.Fabric)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = d.Close() })
	if r.Plan == "" {
		return d
	}
	plan, err := faults.ParsePlan(r.Plan)
	if err != nil {
		r.Fatal(err)
	}
	w := faults.Wrap(d, plan)
	r.Wraps = append(r.Wraps, w)
	r.Cleanup(func() {
		if r.Failed() {
			r.Log(w.Struck())
		}
	})
	return w
}

// Patient returns a context that ends when tests have waited long enough.
func Patient() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), Patience)
}

// Opened returns c, which is closed at the end. An error is fatal.
func Opened[C interface{ Close() error }](r *Rig, c C, err error) C {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = c.Close() })
	return c
}

// Request makes the message that calls a procedure.
func Request(proc uint16, arg []byte) []byte {
	return append([]byte{byte(proc), byte(proc >> 8)}, arg...)
}

// Await waits for something that others bring about.
func Await(t testing.TB, what string, f func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	timeout := time.After(Patience)
	for !f() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("still waiting for %s", what)
		}
	}
}
