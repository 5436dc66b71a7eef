package rfp_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc/rfp"
)

// A server on several devices sleeps until one of them has something, whichever
// that is.
func TestSeveralDevices(t *testing.T) {
	set := provider.New()
	names := []string{provider.Loop, provider.Shm, provider.TCP}
	if fabrics[0] == provider.RDMA {
		names = []string{provider.RDMA, provider.RDMA}
	}
	rigs := make([]*rig, 0, len(names))
	var devices []fabric.Device
	for _, name := range names {
		r := newRig(t, name)
		r.Set = set
		rigs = append(rigs, r)
		devices = append(devices, r.NewDevice())
	}
	s, err := rfp.NewServer(rfp.ServerConfig{
		Device: devices[0], Others: devices[1:], Serve: rigs[0].Mux.Serve, Cores: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	conns := make([]*rfp.Conn, 0, 2*len(rigs))
	for i, r := range rigs {
		if r.Addr, err = s.ListenOn(devices[i], r.Listen, fabric.ListenConfig{}); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, r.dial(rfp.ConnConfig{Core: 0}), r.dial(rfp.ConnConfig{Core: 1, Params: rfp.Params{Mode: rfp.Reply, Pinned: true}}))
	}
	// Until every client has found the server asleep, and woken it.
	for n := 0; ; n++ {
		asleep := true
		for i, c := range conns {
			want := fmt.Sprintf("call %d of client %d", n, i)
			if got, err := call(t, c, procEcho, []byte(want)); err != nil || string(got) != want {
				t.Fatalf("%q, %v", got, err)
			}
			asleep = asleep && c.Stats().Wakeups > 2
			if n%4 == 0 {
				<-time.After(2 * time.Millisecond) // long enough for the server to fall asleep
			}
		}
		if asleep {
			break
		}
		if n == 2000 {
			t.Fatal("the server never slept")
		}
	}
}

// Its devices are those it was made with.
func TestListenOnAForeignDevice(t *testing.T) {
	r := newRig(t, fabrics[0])
	s := r.serve(rfp.ServerConfig{})
	if _, err := s.ListenOn(r.NewDevice(), r.Listen, fabric.ListenConfig{}); err == nil {
		t.Error("it listens on a device that is not the server's")
	}
}
