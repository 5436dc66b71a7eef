package sendrecv_test

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/sendrecv"
)

// procCount adds one to the counter that the argument names, and returns what it was
// before: a request that takes effect twice, or not at all, shifts all later ones.
const procCount uint16 = 60

// procRead returns the counter that the argument names.
const procRead uint16 = 63

func handleCount(r *rig) {
	counters := make([]map[uint32]uint32, 8)
	r.mux.Handle(procCount, func(c *rpc.Call, out []byte) ([]byte, error) {
		if counters[c.Core] == nil {
			counters[c.Core] = map[uint32]uint32{}
		}
		which := binary.LittleEndian.Uint32(c.Request)
		n := counters[c.Core][which]
		counters[c.Core][which]++
		out = append(out, c.Request...)
		return binary.LittleEndian.AppendUint32(out, n), nil
	})
	r.mux.Handle(procRead, func(c *rpc.Call, out []byte) ([]byte, error) {
		return binary.LittleEndian.AppendUint32(out, counters[c.Core][binary.LittleEndian.Uint32(c.Request)]), nil
	})
}

// countUp makes n calls with full windows, and checks that each was counted exactly once
// and in order. It returns how many were sent and how many have their results.
func countUp(c *sendrecv.Conn, which uint32, n, size int) (sent, taken int, err error) {
	arg := append(binary.LittleEndian.AppendUint32(nil, which), make([]byte, size)...)
	for taken < n {
		for ; sent < n; sent++ {
			if err := c.Send(request(procCount, arg)); errors.Is(err, rpc.ErrWindowFull) {
				break
			} else if err != nil {
				return sent, taken, err
			}
		}
		if !c.Wait(patience) {
			return sent, taken, errors.New("no result")
		}
		for ; c.Ready(); taken++ {
			got, err, _ := c.Next()
			if err != nil {
				return sent, taken, err
			}
			if len(got) != len(arg)+4 || string(got[:len(arg)]) != string(arg) {
				return sent, taken, fmt.Errorf("result %d is that of another call", taken)
			}
			if v := binary.LittleEndian.Uint32(got[len(arg):]); v != uint32(taken) {
				return sent, taken, fmt.Errorf("call %d was counted as %d", taken, v)
			}
		}
		if c.Err() != nil {
			return sent, taken, c.Err()
		}
	}
	return sent, taken, nil
}
