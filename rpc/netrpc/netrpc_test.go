package netrpc_test

import (
	"context"
	"errors"
	netrpc "net/rpc"
	"sync"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc"
	rfpnet "github.com/remora-kv/remora/rpc/netrpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

const proc = 7

func connect(t *testing.T) *netrpc.Client {
	t.Helper()
	set := provider.New()
	open := func() fabric.Device {
		d, err := set.Open(provider.Loop)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		return d
	}
	services := netrpc.NewServer()
	if err := services.Register(new(Arith)); err != nil {
		t.Fatal(err)
	}
	var mux rpc.Mux
	rfpnet.Handle(&mux, proc, services)
	s, err := rfp.NewServer(rfp.ServerConfig{Device: open(), Serve: mux.Serve})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	addr, err := s.Listen(fabric.Addr{Fabric: provider.Loop, Name: "arith"}, fabric.ListenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := rfpnet.Dial(context.Background(), addr, proc, rfp.ConnConfig{Device: open()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCallsOfNetRPC(t *testing.T) {
	c := connect(t)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 50 {
				var got int
				if err := c.Call("Arith.Multiply", &Args{g, i}, &got); err != nil || got != g*i {
					t.Errorf("%d * %d: %d, %v", g, i, got, err)
				}
			}
		})
	}
	wg.Wait()
	var got int
	if err := c.Call("Arith.Divide", &Args{1, 0}, &got); err == nil || err.Error() != "divide by zero" {
		t.Errorf("an error of the service became %v", err)
	}
	if err := c.Call("Arith.Nothing", &Args{1, 0}, &got); err == nil {
		t.Error("a method that does not exist was called")
	}
	if err := c.Call("Arith.Divide", &Args{6, 3}, &got); err != nil || got != 2 {
		t.Errorf("after the errors: %d, %v", got, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Call("Arith.Divide", &Args{6, 3}, &got); !errors.Is(err, netrpc.ErrShutdown) {
		t.Errorf("a call after Close: %v", err)
	}
}
