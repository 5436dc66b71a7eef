package herd_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/herd"
	"github.com/remora-kv/remora/test/cachetest"
	"github.com/remora-kv/remora/test/rpctest"
	"github.com/remora-kv/remora/test/scale"
)

// Clients come and go, in order and abruptly, while others work; a new client gets
// nothing of the dead (H7), and nothing is left behind.
func TestComingAndGoing(t *testing.T) {
	rounds := 10
	if testing.Short() || scale.Race {
		rounds = 4
	}
	eachFabric(t, func(t *testing.T, r *rig) {
		running := goleak.IgnoreCurrent()
		r.HandleCount()
		s := r.serve(herd.ServerConfig{Cores: 2})
		control := r.dial(herd.ConnConfig{})
		clients := r.ComeAndGo(t, rounds, r.visit)
		if err := countUp(control, 1<<20, 1000, 0); err != nil {
			t.Error(err)
		}
		clients.Wait()
		await(t, "the places of the others to be free", func() bool { return s.Stats().Clients == 1 })
		if st := s.Stats(); st.Connects != uint64(4*rounds+1) || st.Disconnects != uint64(4*rounds) {
			t.Errorf("%+v", st)
		}
		_ = control.Close()
		_ = s.Close()
		if r.Fabric == "loop" {
			cachetest.NoLeaks(t, running)
		}
	})
}

// visit connects and calls.
func (r *rig) visit(dev fabric.Device, which uint32, inFlight bool) (interface{ Close() error }, error) {
	c, err := r.tryDial(herd.ConnConfig{Device: dev, Window: 8})
	if err != nil {
		return nil, err
	}
	if err := countUp(c, which, 20, 100); err != nil {
		return nil, err
	}
	if inFlight {
		for range 8 {
			_ = c.CoreConn(0).Send(1, request(procEcho, []byte("for nobody")))
		}
	}
	return c, nil
}

func TestAdmissionLimit(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.serve(herd.ServerConfig{MaxClients: 2})
		first := r.dial(herd.ConnConfig{})
		r.dial(herd.ConnConfig{})
		_, err := r.tryDial(herd.ConnConfig{})
		var rejected *fabric.RejectedError
		if !errors.As(err, &rejected) || !strings.Contains(string(rejected.Private), "its 2 clients already") {
			t.Fatalf("a client too many: %v", err)
		}
		_ = first.Close()
		await(t, "a place", func() bool { return s.Stats().Clients == 1 })
		if err := s.SetMaxClients(3); !errors.Is(err, fabric.ErrInvalid) {
			t.Errorf("more clients than the server was made for: %v", err)
		}
		if err := s.SetMaxClients(1); err != nil {
			t.Error(err)
		}
		if _, err := r.tryDial(herd.ConnConfig{}); !errors.As(err, &rejected) {
			t.Errorf("a client too many after the change: %v", err)
		}
		if err := s.SetMaxClients(2); err != nil {
			t.Error(err)
		}
		c := r.dial(herd.ConnConfig{})
		if got, err := call(c, 0, procEcho, []byte("in")); err != nil || string(got) != "in" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// A server that goes ends connections soon, with and without calls in flight.
func TestServerGoes(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		started, release := make(chan struct{}), make(chan struct{})
		r.Mux.Handle(99, func(*rpc.Call, []byte) ([]byte, error) {
			close(started)
			<-release
			return nil, nil
		})
		s := r.serve(herd.ServerConfig{})
		idle, waiting := r.dial(herd.ConnConfig{}), r.dial(herd.ConnConfig{GiveUp: time.Hour})
		if err := waiting.CoreConn(0).Send(1, request(99, nil)); err != nil {
			t.Fatal(err)
		}
		await(t, "the call", func() bool {
			waiting.Poll()
			select {
			case <-started:
				return true
			default:
				return false
			}
		})
		closed := make(chan struct{})
		go func() { _ = s.Close(); close(closed) }()
		close(release)
		<-closed
		for _, c := range []*herd.Conn{idle, waiting} {
			await(t, "the end", func() bool { c.Poll(); return c.Err() != nil })
			if !errors.Is(c.Err(), fabric.ErrDisconnected) && !errors.Is(c.Err(), fabric.ErrPeerLost) {
				t.Errorf("%v", c.Err())
			}
		}
		if _, err := r.tryDial(herd.ConnConfig{}); err == nil {
			t.Error("connected with nobody")
		}
	})
}

func TestCloseTwice(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.serve(herd.ServerConfig{})
		c := r.dial(herd.ConnConfig{})
		l := c.CoreConn(0)
		if err := l.Send(1, request(procEcho, binary.LittleEndian.AppendUint32(nil, 1))); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := c.Close(); !errors.Is(err, rpc.ErrClosed) {
			t.Errorf("second Close: %v", err)
		}
		if _, _, ok := l.Next(); ok || !errors.Is(l.Send(1, nil), rpc.ErrClosed) || !c.Wait(0) {
			t.Error("a closed connection goes on")
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); !errors.Is(err, rpc.ErrClosed) {
			t.Errorf("second Close: %v", err)
		}
	})
}

// A handler that panics fails its call and no other, and the server goes on.
func TestPanics(t *testing.T) {
	expect := func(int, int, uint64) {}
	for name, cfg := range map[string]herd.ServerConfig{
		"at once": {}, "pipeline": {Expect: expect}, "before the core sleeps": {Expect: expect, FlushPolls: 1 << 20},
	} {
		t.Run(name, func(t *testing.T) { checkPanics(t, cfg) })
	}
}

func checkPanics(t *testing.T, cfg herd.ServerConfig) {
	eachFabric(t, func(t *testing.T, r *rig) {
		const calls = 30
		r.HandlePanic()
		s := r.serve(cfg)
		c := r.dial(herd.ConnConfig{Window: 8})
		if err := rpctest.CheckPanics(c, sendersOf(c)[0], calls); err != nil {
			t.Fatal(err)
		}
		if st := s.Stats(); st.Calls != calls || st.Failures != calls/3 || st.Panics != calls/3 {
			t.Errorf("%+v", st)
		}
	})
}
