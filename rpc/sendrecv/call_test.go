package sendrecv_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/sendrecv"
	"github.com/remora-kv/remora/test/scale"
)

func TestEcho(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(sendrecv.ServerConfig{Cores: 2})
		for core := range 2 {
			c := r.dial(sendrecv.ConnConfig{Core: core})
			if c.Core() != core || c.Cores() != 2 {
				t.Fatalf("core %d of %d", c.Core(), c.Cores())
			}
			for n := 0; n <= c.MaxMessage()-rpc.ProcSize; n += 37 {
				arg := bytes.Repeat([]byte{byte(n)}, n)
				if got, err := call(c, procEcho, arg); err != nil || !bytes.Equal(got, arg) {
					t.Fatalf("core %d, %d bytes: %d bytes, %v", core, n, len(got), err)
				}
			}
			if c.Outstanding() != 0 {
				t.Errorf("%d calls without a result", c.Outstanding())
			}
			if n := c.Counters(); n.Out[fabric.OpSend] != c.Stats().Calls || n.Out[fabric.OpWrite]+n.Out[fabric.OpRead] != 0 {
				t.Errorf("%+v for %+v", n, c.Stats())
			}
		}
	})
}

// The longest message and the longest result: a kilobyte beside what frames it.
func TestLimits(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(sendrecv.ServerConfig{})
		c := r.dial(sendrecv.ConnConfig{})
		if c.MaxMessage() != 1024 {
			t.Errorf("messages of %d bytes", c.MaxMessage())
		}
		longest := bytes.Repeat([]byte("L"), c.MaxMessage()-rpc.ProcSize)
		if got, err := call(c, procEcho, longest); err != nil || !bytes.Equal(got, longest) {
			t.Errorf("the longest message: %d bytes, %v", len(got), err)
		}
		if err := c.Send(make([]byte, c.MaxMessage()+1)); !errors.Is(err, rpc.ErrTooLarge) {
			t.Errorf("a message that is too long: %v", err)
		}
		half := bytes.Repeat([]byte("H"), c.MaxMessage()/2)
		if got, err := call(c, procDouble, half); err != nil || len(got) != 2*len(half) {
			t.Errorf("the longest result: %d bytes, %v", len(got), err)
		}
		if _, err := call(c, procDouble, longest); !errors.Is(err, &rpc.Error{Code: rpc.CodeTooLarge}) {
			t.Errorf("a result that is too long: %v", err)
		}
		if !bytes.Equal(c.Request(), request(procDouble, longest)) {
			t.Error("the request cannot be repeated")
		}
		if got, err := call(c, procEcho, []byte("on")); err != nil || string(got) != "on" {
			t.Errorf("after it: %q, %v", got, err)
		}
	})
}

// Each end gets at most what both allow.
func TestAgreement(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(sendrecv.ServerConfig{Window: 7, MaxMessage: 5000})
		for _, p := range []struct{ window, message, wantWindow, wantMessage int }{
			{1, 64, 1, 64}, {7, 5000, 7, 5000}, {1000, 60000, 7, 5000},
		} {
			c := r.dial(sendrecv.ConnConfig{Window: p.window, MaxMessage: p.message})
			if c.Window() != p.wantWindow || c.MaxMessage() != p.wantMessage {
				t.Errorf("%+v: window %d of %d bytes", p, c.Window(), c.MaxMessage())
			}
			longest := bytes.Repeat([]byte("L"), c.MaxMessage()-rpc.ProcSize)
			for range 3 * c.Window() {
				if got, err := call(c, procEcho, longest); err != nil || !bytes.Equal(got, longest) {
					t.Fatalf("%d bytes, %v", len(got), err)
				}
			}
		}
	})
}

func TestFailuresTravel(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.serve(sendrecv.ServerConfig{})
		c := r.dial(sendrecv.ConnConfig{})
		var e *rpc.Error
		if _, err := call(c, procFail, []byte("why")); !errors.As(err, &e) || e.Code != rpc.CodeUser+3 || e.Text != "why" {
			t.Errorf("a failure came as %v", err)
		}
		if _, err := call(c, 999, nil); !errors.Is(err, &rpc.Error{Code: rpc.CodeNoProcedure}) {
			t.Errorf("no procedure: %v", err)
		}
		if got, err := call(c, procAfter, []byte("before ")); err != nil || string(got) != "before behind" {
			t.Errorf("a result in two parts: %q, %v", got, err)
		}
		if got, err := call(c, procEcho, nil); err != nil || len(got) != 0 {
			t.Errorf("an empty result: %q, %v", got, err)
		}
		if st := s.Stats(); st.Failures != 2 || st.Calls != 4 || st.Cut != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// A window of requests whose results come in order (S2); one more is refused.
func TestWindow(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(sendrecv.ServerConfig{Window: 5})
		c := r.dial(sendrecv.ConnConfig{Window: 64})
		var sent, taken uint32
		for range 300 {
			for c.Outstanding() < c.Window() {
				if err := c.Send(request(procEcho, binary.LittleEndian.AppendUint32(nil, sent))); err != nil {
					t.Fatal(err)
				}
				sent++
			}
			if err := c.Send(request(procEcho, nil)); !errors.Is(err, rpc.ErrWindowFull) {
				t.Fatalf("one more than the window: %v", err)
			}
			for range 1 + taken%5 {
				if !c.Wait(patience) {
					t.Fatal("no result")
				}
				got, err, ok := c.Next()
				if !ok || err != nil || binary.LittleEndian.Uint32(got) != taken {
					t.Fatalf("result %d is %v, %v, %v", taken, got, err, ok)
				}
				taken++
			}
		}
	})
}

// What is reserved and not committed is forgotten.
func TestReserveAgain(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(sendrecv.ServerConfig{})
		c := r.dial(sendrecv.ConnConfig{})
		b, err := c.Reserve(500)
		if err != nil {
			t.Fatal(err)
		}
		copy(b, request(procFail, bytes.Repeat([]byte("?"), 498)))
		if got, err := call(c, procEcho, []byte("!")); err != nil || string(got) != "!" {
			t.Errorf("%q, %v", got, err)
		}
		defer func() {
			if recover() == nil {
				t.Error("Commit of nothing")
			}
		}()
		_ = c.Commit()
	})
}

func TestMistakesInTheConfiguration(t *testing.T) {
	_, err := sendrecv.NewServer(sendrecv.ServerConfig{
		Window: 1025, MaxMessage: 5, Cores: -1, CPUs: []int{1, 2}, ReceiveWait: -1, Devices: make([]fabric.Device, 2),
	})
	for _, want := range []string{"Window is 1025", "MaxMessage is 5", "no Device", "no Serve", "Cores is -1", "2 CPUs", "ReceiveWait", "want 1 unless Wake is set"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	_, err = newRig(t, fabrics[0]).tryDial(sendrecv.ConnConfig{Window: 1025, MaxMessage: 5, Core: -2})
	for _, want := range []string{"Window is 1025", "MaxMessage is 5", "Core is -2"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

// Both ends without inline data and with a completion for everything, and with as few
// places as there can be.
func TestWithoutOptimizations(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(sendrecv.ServerConfig{Inline: -1})
		for _, window := range []int{1, 2, 3} {
			c := r.dial(sendrecv.ConnConfig{NoInline: true, SignalAll: true, Window: window})
			for i := range scale.Times(1000) {
				arg := binary.LittleEndian.AppendUint32(nil, uint32(i))
				if got, err := call(c, procEcho, arg); err != nil || !bytes.Equal(got, arg) {
					t.Fatalf("call %d: %v, %v", i, got, err)
				}
			}
		}
	})
}

// Requests that came together are announced together, and each is served with its place
// among them.
func TestExpect(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		var announced [][]byte
		wrong := make(chan string, 1)
		hold := make(chan struct{})
		r.Mux.Handle(50, func(_ *rpc.Call, out []byte) ([]byte, error) { <-hold; return out, nil })
		s := r.serve(sendrecv.ServerConfig{
			Window: 8,
			Expect: func(_ int, batch [][]byte) { announced = append(announced[:0], batch...) },
			Serve: func(c *rpc.Call, msg, out []byte) ([]byte, error) {
				if n := c.Announced; n != 0 && &announced[n-1][0] != &msg[0] {
					select {
					case wrong <- string(msg):
					default:
					}
				}
				res, err := r.Mux.Serve(c, msg, out)
				return append(res, byte(c.Announced)), err
			},
		})
		a, b := r.dial(sendrecv.ConnConfig{Window: 8}), r.dial(sendrecv.ConnConfig{Window: 8})
		if err := a.Send(request(50, nil)); err != nil {
			t.Fatal(err)
		}
		await(t, "the first call", func() bool { a.Poll(); return s.Stats().Calls == 1 })
		for range 7 {
			for _, c := range []*sendrecv.Conn{a, b} {
				if err := c.Send(request(procEcho, nil)); err != nil {
					t.Fatal(err)
				}
			}
		}
		close(hold)
		seen := map[byte]int{}
		for _, c := range []*sendrecv.Conn{a, b} {
			for c.Outstanding() != 0 {
				if !c.Wait(patience) || c.Err() != nil {
					t.Fatal(c.Err())
				}
				got, err, _ := c.Next()
				if err != nil {
					t.Fatal(err)
				}
				seen[got[0]]++
			}
		}
		select {
		case msg := <-wrong:
			t.Errorf("%q was announced as another", msg)
		default:
		}
		if seen[0] == 15 {
			t.Error("nothing was announced, though many came together")
		}
	})
}

// A call that does not end in time is waited for again.
func TestWaitEnds(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		hold := make(chan struct{})
		r.Mux.Handle(50, func(_ *rpc.Call, out []byte) ([]byte, error) { <-hold; return append(out, 1), nil })
		r.serve(sendrecv.ServerConfig{})
		c := r.dial(sendrecv.ConnConfig{})
		if c.Wait(0) {
			t.Error("a result of nothing")
		}
		if err := c.Send(request(50, nil)); err != nil {
			t.Fatal(err)
		}
		if c.Wait(time.Millisecond) {
			t.Error("a result before the end of the call")
		}
		c.Wake()
		c.WaitMore(c.Poll, patience) // ends at once
		close(hold)
		if !c.Wait(0) || !c.Ready() {
			t.Error("no result")
		}
	})
}
