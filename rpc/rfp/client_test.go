package rfp_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

// client connects a client that is closed at the end.
func (r *rig) client(cfg rfp.ConnConfig) *rfp.Client {
	r.t.Helper()
	cfg.Device = r.device()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := rfp.DialClient(ctx, r.addr, cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
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
		if _, err = c.Call(ctx, 999, nil, nil); !errors.Is(err, &rpc.Error{Code: rpc.CodeNoProcedure}) {
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
		r.mux.Handle(50, func(_ *rpc.Call, out []byte) ([]byte, error) { <-gate; return append(out, "late"...), nil })
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
