package sendrecv_test

import (
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/sendrecv"
	"github.com/remora-kv/remora/test/cachetest"
	"github.com/remora-kv/remora/test/rpctest"
	"github.com/remora-kv/remora/test/scale"
)

// Clients come and go, in order and abruptly, while others work, and nothing is left
// behind (S10).
func TestComingAndGoing(t *testing.T) {
	rounds := 12
	if testing.Short() || scale.Race {
		rounds = 4
	}
	eachFabric(t, func(t *testing.T, r *rig) {
		running := goleak.IgnoreCurrent()
		r.HandleCount()
		s := r.serve(sendrecv.ServerConfig{Cores: 2})
		control := r.dial(sendrecv.ConnConfig{})
		clients := r.ComeAndGo(t, rounds, r.visit)
		if _, _, err := countUp(control, 1<<20, scale.Times(1000), 0); err != nil {
			t.Error(err)
		}
		clients.Wait()
		await(t, "the places of the others to be free", func() bool { return s.Stats().Clients == 1 })
		st := s.Stats()
		if st.Connects != uint64(4*rounds+1) || st.Disconnects != uint64(4*rounds) || st.Cut != 0 {
			t.Errorf("%+v", st)
		}
		_ = control.Close()
		_ = s.Close()
		if st := s.Stats(); st.Memory != 0 || st.Clients != 0 {
			t.Errorf("left behind: %+v", st)
		}
		if r.Fabric == "loop" {
			cachetest.NoLeaks(t, running)
		}
	})
}

// visit connects and calls.
func (r *rig) visit(dev fabric.Device, which uint32, inFlight bool) (interface{ Close() error }, error) {
	c, err := r.tryDial(sendrecv.ConnConfig{Device: dev, Window: 8, Core: int(which % 2)})
	if err != nil {
		return nil, err
	}
	if _, _, err := countUp(c, which, 20, 100); err != nil {
		return nil, err
	}
	if inFlight {
		for range 8 {
			_ = c.Send(request(procEcho, []byte("for nobody")))
		}
	}
	return c, nil
}

func TestAdmissionLimit(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.serve(sendrecv.ServerConfig{MaxClients: 2, Cores: 2})
		first := r.dial(sendrecv.ConnConfig{})
		r.dial(sendrecv.ConnConfig{})
		_, err := r.tryDial(sendrecv.ConnConfig{})
		var rejected *fabric.RejectedError
		if !errors.As(err, &rejected) || !strings.Contains(string(rejected.Private), "its 2 clients already") {
			t.Fatalf("a client too many: %v", err)
		}
		for range 2 { // elsewhere there is room
			if c := r.dial(sendrecv.ConnConfig{Core: sendrecv.AnyCore}); c.Core() != 1 {
				t.Errorf("core %d", c.Core())
			}
		}
		if _, err := r.tryDial(sendrecv.ConnConfig{Core: sendrecv.AnyCore}); !errors.As(err, &rejected) {
			t.Errorf("all cores are full: %v", err)
		}
		_ = first.Close()
		await(t, "a place", func() bool { return s.Stats().Clients == 3 })
		if err := s.SetMaxClients(3); !errors.Is(err, fabric.ErrInvalid) {
			t.Errorf("more clients than the server was made for: %v", err)
		}
		if err := s.SetMaxClients(1); err != nil {
			t.Error(err)
		}
		if _, err := r.tryDial(sendrecv.ConnConfig{}); !errors.As(err, &rejected) {
			t.Errorf("a client too many after the change: %v", err)
		}
		if err := s.SetMaxClients(2); err != nil {
			t.Error(err)
		}
		c := r.dial(sendrecv.ConnConfig{})
		if got, err := call(c, procEcho, []byte("in")); err != nil || string(got) != "in" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// A server that goes ends connections soon, with and without calls in flight.
func TestServerGoes(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		started, release := make(chan struct{}), make(chan struct{})
		r.Mux.Handle(99, func(_ *rpc.Call, out []byte) ([]byte, error) {
			close(started)
			<-release
			return out, nil
		})
		s := r.serve(sendrecv.ServerConfig{})
		idle, waiting := r.dial(sendrecv.ConnConfig{}), r.dial(sendrecv.ConnConfig{})
		for _, proc := range []uint16{99, procEcho} {
			if err := waiting.Send(request(proc, nil)); err != nil {
				t.Fatal(err)
			}
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
		for _, c := range []*sendrecv.Conn{idle, waiting} {
			await(t, "the end", func() bool { c.Poll(); return c.Err() != nil })
			if !errors.Is(c.Err(), fabric.ErrDisconnected) && !errors.Is(c.Err(), fabric.ErrPeerLost) {
				t.Errorf("%v", c.Err())
			}
			if err := c.Send(request(procEcho, nil)); !errors.Is(err, rpc.ErrNotSent) {
				t.Errorf("sent to nobody: %v", err)
			}
		}
		if _, err := r.tryDial(sendrecv.ConnConfig{}); err == nil {
			t.Error("connected with nobody")
		}
	})
}

func TestCloseTwice(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.serve(sendrecv.ServerConfig{})
		c := r.dial(sendrecv.ConnConfig{})
		if err := c.Send(request(procEcho, nil)); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := c.Close(); !errors.Is(err, rpc.ErrClosed) {
			t.Errorf("second Close: %v", err)
		}
		if _, _, ok := c.Next(); ok || !errors.Is(c.Send(nil), rpc.ErrClosed) || !c.Wait(0) {
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

// Disconnect, from any goroutine, ends a wait.
func TestDisconnect(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		hold, entered := make(chan struct{}), make(chan struct{})
		r.Mux.Handle(99, func(_ *rpc.Call, out []byte) ([]byte, error) { close(entered); <-hold; return out, nil })
		r.serve(sendrecv.ServerConfig{})
		c := r.dial(sendrecv.ConnConfig{})
		if err := c.Send(request(99, nil)); err != nil {
			t.Fatal(err)
		}
		go func() { <-entered; c.Disconnect() }()
		if !c.Wait(patience) || !errors.Is(c.Err(), fabric.ErrClosed) || c.Ready() {
			t.Errorf("%v", c.Err())
		}
		close(hold)
	})
}

// A handler that panics fails its call and no other, and the server goes on.
func TestPanics(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		const calls = 30
		r.HandlePanic()
		s := r.serve(sendrecv.ServerConfig{})
		c := r.dial(sendrecv.ConnConfig{Window: 8})
		if err := rpctest.CheckPanics(c, c, calls); err != nil {
			t.Fatal(err)
		}
		if st := s.Stats(); st.Calls != calls || st.Failures != calls/3 || st.Panics != calls/3 {
			t.Errorf("%+v", st)
		}
	})
}
