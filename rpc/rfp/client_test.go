package rfp_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/driver"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/test/scale"
)

// client connects a client that is closed at the end.
func (r *rig) client(cfg rfp.ConnConfig) *rfp.Client {
	r.Helper()
	cfg.Device = r.NewDevice()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := rfp.DialClient(ctx, r.Addr, cfg)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = c.Close() })
	return c
}

func TestClientOfManyGoroutines(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(rfp.ServerConfig{})
		c := r.client(rfp.ConnConfig{})
		var wg sync.WaitGroup
		for g := range 16 {
			wg.Go(func() {
				arg := make([]byte, 64)
				var out []byte
				for i := range 200 {
					binary.LittleEndian.PutUint64(arg, uint64(g)<<32|uint64(i))
					var err error
					if out, err = c.Call(context.Background(), procDouble, arg[:8+i%40], out[:0]); err != nil {
						t.Error(err)
						return
					}
					if want := append(bytes.Clone(arg[:8+i%40]), arg[:8+i%40]...); !bytes.Equal(out, want) {
						t.Errorf("goroutine %d, call %d: %x", g, i, out)
						return
					}
				}
			})
		}
		wg.Wait()
		st := c.Conn().Stats()
		t.Logf("%+v: %.1f calls in a frame", st, float64(st.Calls)/float64(st.Frames))
	})
}

func TestClientTellsFailuresApart(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.serve(rfp.ServerConfig{MaxMessage: 10_000})
		c := r.client(rfp.ConnConfig{})
		ctx := context.Background()
		_, err := c.Call(ctx, procFail, []byte("because"), nil)
		var e *rpc.Error
		if !errors.As(err, &e) || e.Code != rpc.CodeUser+7 || e.Text != "because" {
			t.Errorf("a failure became %v", err)
		}
		if _, err = c.Call(ctx, 99, nil, nil); !errors.Is(err, &rpc.Error{Code: rpc.CodeNoProcedure}) {
			t.Errorf("no such procedure: %v", err)
		}
		if _, err = c.Call(ctx, procDouble, make([]byte, 9000), nil); !errors.Is(err, &rpc.Error{Code: rpc.CodeTooLarge}) {
			t.Errorf("a result that is too large: %v", err)
		}
		if _, err = c.Call(ctx, procEcho, make([]byte, 10_001), nil); !errors.Is(err, rpc.ErrTooLarge) {
			t.Errorf("a request that is too large: %v", err)
		}
		if out, err := c.Call(ctx, procEcho, []byte("still there"), []byte("> ")); err != nil || string(out) != "> still there" {
			t.Errorf("after the failures: %q, %v", out, err)
		}
		_ = s.Close()
		if _, err = c.Call(ctx, procEcho, []byte("x"), nil); err == nil {
			t.Error("a call to a closed server succeeded")
		}
		_ = c.Close()
		if _, err = c.Call(ctx, procEcho, []byte("x"), nil); !errors.Is(err, rpc.ErrClosed) {
			t.Errorf("a call on a closed client: %v", err)
		}
	})
}

func TestClientGivesUpWithItsContext(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		gate := make(chan struct{})
		r.Mux.Handle(50, func(_ *rpc.Call, out []byte) ([]byte, error) { <-gate; return append(out, "late"...), nil })
		r.serve(rfp.ServerConfig{})
		c := r.client(rfp.ConnConfig{})
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i+1)*3*time.Millisecond)
				defer cancel()
				buf := make([]byte, 0, 64)
				if _, err := c.Call(ctx, 50, []byte(fmt.Sprint(i)), buf); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("call %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		close(gate)
		out, err := c.Call(context.Background(), procEcho, []byte("next"), nil)
		if err != nil || string(out) != "next" {
			t.Errorf("after calls that were given up: %q, %v", out, err)
		}
	})
}

func TestAsynchronousCalls(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(rfp.ServerConfig{})
		c := r.client(rfp.ConnConfig{})
		var ps []*rfp.Pending
		for i := range 300 {
			ps = append(ps, c.Go(procEcho, fmt.Append(nil, "call ", i), nil))
		}
		for i, p := range ps {
			out, err := p.Wait(context.Background())
			if want := fmt.Sprint("call ", i); err != nil || string(out) != want {
				t.Fatalf("%q, %v instead of %q", out, err, want)
			}
		}
	})
}

// A long result on shared memory comes to where its caller wants it: no memory is made for it on the way.
func TestLongResultsLand(t *testing.T) {
	r := newRig(t, provider.Shm)
	r.serve(rfp.ServerConfig{})
	dev := r.NewDevice()
	c := r.dial(rfp.ConnConfig{Device: dev})
	warm(t, c)
	d := c.Driven()
	long, buf := longPattern(1<<20-16, 6), make([]byte, 1<<20)
	asked := 0
	d.Land(func(n int) []byte {
		asked++
		return buf[:n]
	})
	for i := range 3 {
		got := echoed(t, d, long)
		if !bytes.Equal(got, long) || &got[0] != &buf[0] || asked != i+1 {
			t.Fatalf("%d bytes came, of which %d are in memory that was asked for %d times", len(got), len(long), asked)
		}
	}
	d.Land(func(int) []byte { return nil })
	if got := echoed(t, d, long); !bytes.Equal(got, long) || &got[0] == &buf[0] {
		t.Errorf("%d bytes came", len(got))
	}
	if n := memoryFor(dev, "rfp long result"); n != 0 {
		t.Errorf("%d bytes for long results", n)
	}
}

// When the server's memory cannot be looked at any more, the rest of a result is READ.
func TestLongResultsThatCannotBeLookedAt(t *testing.T) {
	r := newRig(t, provider.Shm)
	r.serve(rfp.ServerConfig{})
	conn := r.dial(rfp.ConnConfig{})
	d := conn.Driven()
	buf := make([]byte, 1<<20)
	d.Land(func(n int) []byte { return buf[:n] })
	for looks := range 12 {
		long := longPattern(1<<20-16, looks)
		conn.LookOnly(looks)
		if got := echoed(t, d, long); !bytes.Equal(got, long) || &got[0] == &buf[0] {
			t.Fatalf("after %d pieces: %d bytes came", looks, len(got))
		}
	}
}

// echoed is the answer to one call.
func echoed(t *testing.T, d *rfp.Driven, arg []byte) []byte {
	t.Helper()
	if err := d.Send(&driver.Message{Proc: procEcho, Head: arg}); err != nil {
		t.Fatal(err)
	}
	d.Flush()
	if !d.Wait(0) {
		t.Fatal(d.Err())
	}
	got, err, ok := d.Next()
	if err != nil || !ok {
		t.Fatal(err, d.Err())
	}
	return got
}

// Callers give up while long results come to their memory, which is theirs again then; others get theirs whole.
func TestGivingUpLongResults(t *testing.T) {
	const longest, caller, procCancels = 400 << 10, 4, 51
	all, zeros := longPattern(longest+256, 7), make([]byte, longest)
	eachFabric(t, func(t *testing.T, r *rig) {
		var cancels sync.Map // by the call
		r.Mux.Handle(procCancels, func(c *rpc.Call, out []byte) ([]byte, error) {
			if cancel, ok := cancels.Load(binary.LittleEndian.Uint32(c.Request)); ok {
				cancel.(context.CancelFunc)() //lint:ignore errcheck nothing else is in there
			}
			n, salt := binary.LittleEndian.Uint32(c.Request[4:]), c.Request[8]
			return append(out, all[salt:][:n]...), nil
		})
		r.serve(rfp.ServerConfig{})
		c := r.client(rfp.ConnConfig{})
		var wg sync.WaitGroup
		var gaveUp atomic.Int64
		for g := range caller {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(5, uint64(g)))
				bufs := [2][]byte{make([]byte, 0, longest), make([]byte, 0, longest)}
				var left []byte // memory that was given back
				for i := range scale.Times(60) {
					n, salt, id := 32<<10+rng.IntN(longest-32<<10), rng.IntN(256), uint32(g)<<16|uint32(i)
					ctx, cancel := context.WithCancel(context.Background())
					if rng.IntN(2) == 0 {
						cancels.Store(id, cancel)
					}
					req := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, id), uint32(n))
					buf := bufs[i%2]
					out, err := c.Call(ctx, procCancels, append(req, byte(salt)), buf)
					cancel()
					if !bytes.Equal(left, zeros[:len(left)]) {
						t.Errorf("call %d of %d: memory was written that had been given back", i, g)
					}
					left = nil
					switch {
					case errors.Is(err, context.Canceled):
						gaveUp.Add(1)
						left = buf[:cap(buf)]
						clear(left)
					case err != nil || !bytes.Equal(out, all[salt:][:n]):
						t.Errorf("call %d of %d: %d bytes of %d, %v", i, g, len(out), n, err)
					}
				}
			})
		}
		wg.Wait()
		if t.Logf("%d calls were given up", gaveUp.Load()); gaveUp.Load() == 0 {
			t.Error("no call was given up")
		}
	})
}

// A procedure that would share the mode of another one is refused, and nothing is sent.
func TestProceduresHaveModesOfTheirOwn(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(rfp.ServerConfig{Serve: func(_ *rpc.Call, _, out []byte) ([]byte, error) { return append(out, "served"...), nil }})
		c := r.client(rfp.ConnConfig{})
		for _, proc := range []uint16{rpc.MaxProc + 1, 1 << 15} {
			if out, err := c.Call(context.Background(), proc, nil, nil); !errors.Is(err, rpc.ErrNotSent) || !errors.Is(err, fabric.ErrInvalid) {
				t.Errorf("procedure %d: %q, %v", proc, out, err)
			}
		}
		if out, err := c.Call(context.Background(), rpc.MaxProc, nil, nil); err != nil || string(out) != "served" {
			t.Errorf("procedure %d: %q, %v", rpc.MaxProc, out, err)
		}
		if n := c.Conn().Stats().Calls; n != 1 {
			t.Errorf("%d calls were sent", n)
		}
	})
}
