package herd_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/herd"
	"github.com/remora-kv/remora/test/scale"
)

func TestEcho(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(herd.ServerConfig{Cores: 2})
		c := r.dial(herd.ConnConfig{})
		for n := 0; n <= c.MaxMessage()-rpc.ProcSize; n += 37 {
			arg := bytes.Repeat([]byte{byte(n)}, n)
			for core := range c.Cores() {
				if got, err := call(c, core, procEcho, arg); err != nil || !bytes.Equal(got, arg) {
					t.Fatalf("core %d, %d bytes: %d bytes, %v", core, n, len(got), err)
				}
			}
		}
		if c.Outstanding() != 0 {
			t.Errorf("%d calls without a result", c.Outstanding())
		}
	})
}

// The longest message and the longest result: a kilobyte with what frames it.
func TestLimits(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(herd.ServerConfig{})
		c := r.dial(herd.ConnConfig{})
		if c.MaxMessage() != 1000 {
			t.Errorf("messages of %d bytes in slots of 1024", c.MaxMessage())
		}
		longest := bytes.Repeat([]byte("L"), c.MaxMessage()-rpc.ProcSize)
		if got, err := call(c, 0, procEcho, longest); err != nil || !bytes.Equal(got, longest) {
			t.Errorf("the longest message: %d bytes, %v", len(got), err)
		}
		if err := c.CoreConn(0).Send(1, make([]byte, c.MaxMessage()+1)); !errors.Is(err, rpc.ErrTooLarge) {
			t.Errorf("a message that is too long: %v", err)
		}
		half := bytes.Repeat([]byte("H"), c.MaxMessage()/2)
		if got, err := call(c, 0, procDouble, half); err != nil || len(got) != 2*len(half) {
			t.Errorf("the longest result: %d bytes, %v", len(got), err)
		}
		if _, err := call(c, 0, procDouble, longest); !errors.Is(err, &rpc.Error{Code: rpc.CodeTooLarge}) {
			t.Errorf("a result that is too long: %v", err)
		}
		if got, err := call(c, 0, procEcho, []byte("on")); err != nil || string(got) != "on" {
			t.Errorf("after it: %q, %v", got, err)
		}
	})
}

func TestFailuresTravel(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.serve(herd.ServerConfig{})
		c := r.dial(herd.ConnConfig{})
		var e *rpc.Error
		if _, err := call(c, 0, procFail, []byte("why")); !errors.As(err, &e) || e.Code != rpc.CodeUser+3 || e.Text != "why" {
			t.Errorf("a failure came as %v", err)
		}
		if _, err := call(c, 0, 999, nil); !errors.Is(err, &rpc.Error{Code: rpc.CodeNoProcedure}) {
			t.Errorf("no procedure: %v", err)
		}
		if got, err := call(c, 0, procAfter, []byte("before ")); err != nil || string(got) != "before behind" {
			t.Errorf("a result in two parts: %q, %v", got, err)
		}
		if st := s.Stats(); st.Failures != 2 || st.Calls != 3 || st.Cut != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// A window of requests to every core, whose results come in order; one more is refused.
func TestWindow(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(herd.ServerConfig{Cores: 2, Window: 5})
		c := r.dial(herd.ConnConfig{Window: 64})
		if c.Window() != 5 {
			t.Fatalf("window %d", c.Window())
		}
		var sent, taken [2]uint32
		fill := func(core int) {
			l := c.CoreConn(core)
			for l.Outstanding() < c.Window() {
				if err := send(l, c, request(procEcho, binary.LittleEndian.AppendUint32(nil, sent[core]))); err != nil {
					t.Fatal(err)
				}
				sent[core]++
			}
			if err := l.Send(1, request(procEcho, nil)); !errors.Is(err, rpc.ErrWindowFull) {
				t.Fatalf("one more than the window: %v", err)
			}
		}
		for range 100 {
			fill(0)
			fill(1)
			if c.Outstanding() != 2*c.Window() {
				t.Fatalf("%d outstanding", c.Outstanding())
			}
			for core := range 2 {
				l := c.CoreConn(core)
				for range 3 {
					for !l.Ready() {
						c.Poll()
					}
					got, err, ok := l.Next()
					if !ok || err != nil || binary.LittleEndian.Uint32(got) != taken[core] {
						t.Fatalf("core %d: result %d is %v, %v, %v", core, taken[core], got, err, ok)
					}
					taken[core]++
				}
			}
		}
	})
}

func TestMistakesInTheConfiguration(t *testing.T) {
	_, err := herd.NewServer(herd.ServerConfig{Window: 65, SlotSize: 1000, Cores: -1, CPUs: []int{1, 2}})
	for _, want := range []string{"Window is 65", "multiple of 64", "no Device", "no Serve", "Cores is -1", "2 CPUs"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	_, err = newRig(t, fabrics[0]).tryDial(herd.ConnConfig{Window: 65, SlotSize: 5, GiveUp: -1})
	for _, want := range []string{"Window is 65", "SlotSize is 5", "GiveUp"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

// Both ends without inline data and with a completion for everything.
func TestWithoutOptimizations(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(herd.ServerConfig{Inline: -1})
		c := r.dial(herd.ConnConfig{NoInline: true, SignalAll: true, Window: 2})
		for i := range scale.Times(2000) {
			arg := binary.LittleEndian.AppendUint32(nil, uint32(i))
			if got, err := call(c, 0, procEcho, arg); err != nil || !bytes.Equal(got, arg) {
				t.Fatalf("call %d: %v, %v", i, got, err)
			}
		}
	})
}

// A connection can be with some cores only. The others know nothing of it.
func TestSomeCores(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.Mux.Handle(99, func(c *rpc.Call, out []byte) ([]byte, error) { return append(out, byte(c.Core)), nil })
		s := r.serve(herd.ServerConfig{Cores: 3})
		for _, cfg := range []herd.ConnConfig{{}, {First: 1}, {First: 1, Count: 1}, {First: 2, Count: 1}, {Count: 2}} {
			c := r.dial(cfg)
			count := cfg.Count
			if count == 0 {
				count = 3 - cfg.First
			}
			for core := cfg.First; core < cfg.First+count; core++ {
				for range 2 * c.Window() {
					if got, err := call(c, core, 99, []byte("who")); err != nil || len(got) != 1 || int(got[0]) != core {
						t.Fatalf("%+v: core %d answered as %v, %v", cfg, core, got, err)
					}
				}
				if got := c.CoreConn(core).Request(); !bytes.Equal(got, request(99, []byte("who"))) {
					t.Errorf("the request was %q", got)
				}
			}
			if c.Cores() != 3 {
				t.Errorf("the server has %d cores", c.Cores())
			}
		}
		if st := s.Stats(); st.Hot > 9 {
			t.Errorf("nine CoreConns have %d chunks", st.Hot)
		}
		for _, cfg := range []herd.ConnConfig{{First: 3}, {First: 2, Count: 2}, {Count: 4}} {
			if c, err := r.tryDial(cfg); err == nil {
				t.Errorf("%+v: connected with %d cores", cfg, c.Cores())
				_ = c.Close()
			}
		}
	})
}
