package rfp_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/test/rpctest"
	"github.com/remora-kv/remora/test/scale"
)

// hammerSize is mostly small and sometimes up to 100 kB.
func hammerSize(rnd *rand.Rand) int {
	switch rnd.IntN(32) {
	case 0:
		return rnd.IntN(100_000)
	case 1, 2:
		return rnd.IntN(5000)
	case 3:
		return 0
	}
	return rnd.IntN(200)
}

var hammerModes = map[string]rfp.Params{
	"fetch":  {Pinned: true, Mode: rfp.Fetch},
	"reply":  {Pinned: true, Mode: rfp.Reply},
	"hybrid": {Retries: 1, SlowCalls: 1},
}

// Every byte of every argument and every result, from many goroutines over many
// connections, in all modes and batches.
func TestHammer(t *testing.T) {
	calls := 6
	if testing.Short() || scale.Race {
		calls = 2
	}
	for name, params := range hammerModes {
		for _, batch := range []int{1, 16} {
			t.Run(fmt.Sprintf("%s/%d", name, batch), func(t *testing.T) {
				eachFabric(t, func(t *testing.T, r *rig) { hammer(t, r, params, batch, calls) })
			})
		}
	}
}

func hammer(t *testing.T, r *rig, params rfp.Params, batch, calls int) {
	r.HandleMake()
	s := r.serve(rfp.ServerConfig{Cores: 2, MaxMessage: 128 << 10})
	r.hammerServer(t, params, batch, calls)
	if st := s.Stats(); st.Failures != 0 || st.Cut+st.Lost != 0 {
		t.Errorf("%+v", st)
	}
}

// hammerServer is the clients' part.
func (r *rig) hammerServer(t *testing.T, params rfp.Params, batch, calls int) {
	var wg sync.WaitGroup
	for i := range 8 {
		c := r.client(rfp.ConnConfig{Core: rfp.AnyCore, Batch: batch, Window: 1 + i, Params: params})
		for g := range 8 {
			rnd := rand.New(rand.NewPCG(uint64(i), uint64(g)))
			wg.Go(func() {
				for range calls {
					if err := hammerOnce(c, rnd); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
}

func hammerOnce(c *rfp.Client, rnd *rand.Rand) error {
	n, seed, sum := hammerSize(rnd), rnd.Uint64(), rnd.Uint64()
	arg := rpctest.MakeArg(n, seed, hammerSize(rnd), sum)
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	defer cancel()
	out, err := c.Call(ctx, rpctest.Make, arg, nil)
	if err != nil {
		return fmt.Errorf("a call of %d bytes for %d: %w; %+v", len(arg), n, err, c.Conn().Stats())
	}
	if !bytes.Equal(out, rpctest.Value(nil, n, seed)) {
		return fmt.Errorf("%d bytes came for %d, or others than were sent", len(out), n)
	}
	return nil
}
