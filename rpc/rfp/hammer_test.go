package rfp_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/test/scale"
)

// procMake returns a value of the length and seed that its argument begins with;
// the rest of the argument must be a value of a length and seed, too.
const procMake uint16 = 61

const hammerHead = 24

// hammerValue appends a value that says of each byte what it must be.
func hammerValue(b []byte, n int, seed uint64) []byte {
	for i := 0; i < n; i += 8 {
		seed = seed*6364136223846793005 + 1442695040888963407
		b = binary.LittleEndian.AppendUint64(b, seed)
	}
	return b[:len(b)-(-n&7)]
}

func handleMake(r *rig) {
	r.mux.Handle(procMake, func(c *rpc.Call, out []byte) ([]byte, error) {
		le := binary.LittleEndian
		if len(c.Request) < hammerHead {
			return out, &rpc.Error{Code: rpc.CodeUser, Text: "too short"}
		}
		n, seed, sum := le.Uint32(c.Request), le.Uint64(c.Request[8:]), le.Uint64(c.Request[16:])
		arg := c.Request[hammerHead:]
		if !bytes.Equal(arg, hammerValue(nil, len(arg), sum)) {
			return out, &rpc.Error{Code: rpc.CodeUser, Text: fmt.Sprintf("an argument of %d bytes is not what was sent", len(arg))}
		}
		return hammerValue(out, int(n), seed), nil
	})
}

// size is mostly small and sometimes up to 100 kB.
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
	handleMake(r)
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
	arg := binary.LittleEndian.AppendUint64(nil, uint64(n))
	arg = binary.LittleEndian.AppendUint64(arg, seed)
	arg = binary.LittleEndian.AppendUint64(arg, sum)
	arg = append(arg, hammerValue(nil, hammerSize(rnd), sum)...)
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	defer cancel()
	out, err := c.Call(ctx, procMake, arg, nil)
	if err != nil {
		return fmt.Errorf("a call of %d bytes for %d: %w; %+v", len(arg), n, err, c.Conn().Stats())
	}
	if !bytes.Equal(out, hammerValue(nil, n, seed)) {
		return fmt.Errorf("%d bytes came for %d, or others than were sent", len(out), n)
	}
	return nil
}
