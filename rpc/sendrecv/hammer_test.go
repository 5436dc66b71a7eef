package sendrecv_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/sendrecv"
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

// Every byte of every argument and every result, from many connections, with and
// without inline data and announcements.
func TestHammer(t *testing.T) {
	calls := scale.Times(400)
	if testing.Short() || scale.Race {
		calls = 80
	}
	for _, p := range []struct {
		name   string
		server sendrecv.ServerConfig
		conn   sendrecv.ConnConfig
	}{
		{"plain", sendrecv.ServerConfig{}, sendrecv.ConnConfig{}},
		{"announced", sendrecv.ServerConfig{Expect: func(int, [][]byte) {}}, sendrecv.ConnConfig{}},
		{"referenced", sendrecv.ServerConfig{Inline: -1}, sendrecv.ConnConfig{NoInline: true}},
		{"long", sendrecv.ServerConfig{MaxMessage: 40000, Window: 64}, sendrecv.ConnConfig{MaxMessage: 40000}},
	} {
		t.Run(p.name, func(t *testing.T) {
			eachFabric(t, func(t *testing.T, r *rig) {
				handleMake(r)
				p.server.Cores = 2
				s := r.serve(p.server)
				var wg sync.WaitGroup
				for i := range 6 {
					p.conn.Window, p.conn.Core = 1+3*i, sendrecv.AnyCore
					c := r.dial(p.conn)
					wg.Go(func() {
						if err := hammer(c, calls, uint64(i)); err != nil {
							t.Errorf("client %d: %v; %+v", i, err, c.Stats())
						}
					})
				}
				wg.Wait()
				if st := s.Stats(); st.Failures != 0 || st.Cut+st.Lost != 0 || st.Calls != uint64(6*calls) {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}

// wanted is a result that must come.
type wanted struct {
	n    int
	seed uint64
}

func hammer(c *sendrecv.Conn, calls int, seed uint64) error {
	rnd := rand.New(rand.NewPCG(seed, 2))
	var queue []wanted
	for sent, taken := 0, 0; taken < calls; {
		if sent < calls {
			w, msg := hammerCall(rnd, c.MaxMessage())
			switch err := c.Send(msg); {
			case err == nil:
				queue = append(queue, w)
				sent++
			case !errors.Is(err, rpc.ErrWindowFull):
				return err
			}
		}
		if c.Outstanding() == c.Window() || sent == calls {
			c.Wait(patience)
		}
		if c.Poll(); c.Err() != nil {
			return c.Err()
		}
		for ; c.Ready(); taken++ {
			got, err, _ := c.Next()
			w := queue[0]
			queue = queue[1:]
			if err != nil || !bytes.Equal(got, hammerValue(nil, w.n, w.seed)) {
				return fmt.Errorf("%d bytes came for %d, or others than were sent: %w", len(got), w.n, err)
			}
		}
	}
	return nil
}

func hammerCall(rnd *rand.Rand, most int) (wanted, []byte) {
	w := wanted{rnd.IntN(most + 1), rnd.Uint64()}
	sum := rnd.Uint64()
	msg := request(procMake, binary.LittleEndian.AppendUint64(nil, uint64(w.n)))
	msg = binary.LittleEndian.AppendUint64(msg, w.seed)
	msg = binary.LittleEndian.AppendUint64(msg, sum)
	return w, hammerValue(msg, rnd.IntN(most-len(msg)+1), sum)
}
