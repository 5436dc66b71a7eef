package rpctest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/remora-kv/remora/rpc"
)

// Conn is a connection of a path as loads use it: one that takes results from one Sender or several.
type Conn interface {
	Poll() bool
	Wait(timeout time.Duration) bool
	Outstanding() int
	Window() int
	MaxMessage() int
	Err() error
}

// Sender is the part of a connection that calls one core.
type Sender interface {
	Send(msg []byte) error
	Ready() bool
	Next() (result []byte, err error, ok bool)
}

// The procedures of loads.
const (
	// Count counts calls for each number that arguments begin with, on each core. It returns the
	// argument and behind it how many there were before. Counted returns that alone.
	Count uint16 = 60
	// Make returns a value of the length and seed that its argument begins with; the rest of the
	// argument must be a value of a length and seed, too.
	Make    uint16 = 61
	Counted uint16 = 62
	// Panic returns its argument, or panics if that begins with a p.
	Panic uint16 = 63
)

// HandleCount handles Count and Counted.
func (r *Rig) HandleCount() {
	counters := make([]map[uint32]uint32, 8) // by core
	r.Mux.Handle(Count, func(c *rpc.Call, out []byte) ([]byte, error) {
		if counters[c.Core] == nil {
			counters[c.Core] = map[uint32]uint32{}
		}
		which := binary.LittleEndian.Uint32(c.Request)
		n := counters[c.Core][which]
		counters[c.Core][which]++
		return binary.LittleEndian.AppendUint32(append(out, c.Request...), n), nil
	})
	r.Mux.Handle(Counted, func(c *rpc.Call, out []byte) ([]byte, error) {
		return binary.LittleEndian.AppendUint32(out, counters[c.Core][binary.LittleEndian.Uint32(c.Request)]), nil
	})
}

// CountUp makes n calls by every sender with full windows, and checks that each was counted
// exactly once and in order. It returns how many were sent and how many have their results.
func CountUp(c Conn, senders []Sender, which uint32, n, size int) (sent, taken int, err error) {
	msg := Request(Count, append(binary.LittleEndian.AppendUint32(nil, which), make([]byte, size)...))
	arg := msg[rpc.ProcSize:]
	sentBy, takenOf := make([]int, len(senders)), make([]uint32, len(senders))
	for taken < n*len(senders) {
		for i, s := range senders {
			for ; sentBy[i] < n; sentBy[i]++ {
				if err := s.Send(msg); errors.Is(err, rpc.ErrWindowFull) {
					break
				} else if err != nil {
					return sent, taken, err
				}
				sent++
			}
		}
		if c.Outstanding() != 0 && !c.Wait(Patience) {
			return sent, taken, errors.New("no result")
		}
		c.Poll()
		for i, s := range senders {
			for ; s.Ready(); taken++ {
				got, err, _ := s.Next()
				if err != nil {
					return sent, taken, err
				}
				if len(got) != len(arg)+4 || !bytes.Equal(got[:len(arg)], arg) {
					return sent, taken, fmt.Errorf("result %d of sender %d is that of another call", takenOf[i], i)
				}
				if v := binary.LittleEndian.Uint32(got[len(arg):]); v != takenOf[i] {
					return sent, taken, fmt.Errorf("call %d of sender %d was counted as %d", takenOf[i], i, v)
				}
				takenOf[i]++
			}
		}
		if c.Err() != nil {
			return sent, taken, c.Err()
		}
	}
	return sent, taken, nil
}

// makeHead is the length of what an argument of Make begins with.
const makeHead = 24

// Value appends n bytes that tell of each byte what it must be.
func Value(b []byte, n int, seed uint64) []byte {
	for i := 0; i < n; i += 8 {
		seed = seed*6364136223846793005 + 1442695040888963407
		b = binary.LittleEndian.AppendUint64(b, seed)
	}
	return b[:len(b)-(-n&7)]
}

// HandleMake handles Make.
func (r *Rig) HandleMake() {
	r.Mux.Handle(Make, func(c *rpc.Call, out []byte) ([]byte, error) {
		le := binary.LittleEndian
		if len(c.Request) < makeHead {
			return out, &rpc.Error{Code: rpc.CodeUser, Text: "too short"}
		}
		n, seed, sum := le.Uint32(c.Request), le.Uint64(c.Request[8:]), le.Uint64(c.Request[16:])
		arg := c.Request[makeHead:]
		if !bytes.Equal(arg, Value(nil, len(arg), sum)) {
			return out, &rpc.Error{Code: rpc.CodeUser, Text: fmt.Sprintf("an argument of %d bytes is not what was sent", len(arg))}
		}
		return Value(out, int(n), seed), nil
	})
}

// MakeArg returns an argument of Make that asks for a value of n bytes and has one of size bytes.
func MakeArg(n int, seed uint64, size int, sum uint64) []byte {
	arg := binary.LittleEndian.AppendUint64(nil, uint64(n))
	arg = binary.LittleEndian.AppendUint64(arg, seed)
	return Value(binary.LittleEndian.AppendUint64(arg, sum), size, sum)
}

// wanted is a result of Make that must come.
type wanted struct {
	n    int
	seed uint64
}

// Hammer calls Make by random senders, and checks every byte.
func Hammer(c Conn, senders []Sender, calls int, seed uint64) error {
	rnd := rand.New(rand.NewPCG(seed, 2))
	queues := make([][]wanted, len(senders))
	for sent, taken := 0, 0; taken < calls; {
		if i := rnd.IntN(len(senders)); sent < calls {
			w := wanted{rnd.IntN(c.MaxMessage() + 1), rnd.Uint64()}
			arg := MakeArg(w.n, w.seed, rnd.IntN(c.MaxMessage()-rpc.ProcSize-makeHead+1), rnd.Uint64())
			switch err := senders[i].Send(Request(Make, arg)); {
			case err == nil:
				queues[i] = append(queues[i], w)
				sent++
			case !errors.Is(err, rpc.ErrWindowFull):
				return err
			}
		}
		if c.Outstanding() == c.Window()*len(senders) || sent == calls {
			c.Wait(Patience)
		}
		if c.Poll(); c.Err() != nil {
			return c.Err()
		}
		for i, s := range senders {
			for ; s.Ready(); taken++ {
				got, err, _ := s.Next()
				w := queues[i][0]
				queues[i] = queues[i][1:]
				if err != nil || !bytes.Equal(got, Value(nil, w.n, w.seed)) {
					return fmt.Errorf("%d bytes came for %d, or others than were sent: %w", len(got), w.n, err)
				}
			}
		}
	}
	return nil
}

// HandlePanic handles Panic.
func (r *Rig) HandlePanic() {
	r.Mux.Handle(Panic, func(c *rpc.Call, out []byte) ([]byte, error) {
		out = append(out, c.Request...)
		if c.Request[0] == 'p' {
			c.After = []byte("behind the result")
			panic(fmt.Sprintf("asked to by %q", c.Request))
		}
		return out, nil
	})
}

// CheckPanics makes calls of which every third panics, with full windows: each fails or not by
// itself.
func CheckPanics(c Conn, s Sender, calls int) error {
	arg := func(i int) string {
		if i%3 == 0 {
			return fmt.Sprint("panic ", i)
		}
		return fmt.Sprint("call ", i)
	}
	for sent, taken := 0, 0; taken < calls; {
		for ; sent < calls; sent++ {
			if err := s.Send(Request(Panic, []byte(arg(sent)))); errors.Is(err, rpc.ErrWindowFull) {
				break
			} else if err != nil {
				return err
			}
		}
		if !c.Wait(Patience) {
			return fmt.Errorf("no result of call %d", taken)
		}
		for c.Poll(); s.Ready(); taken++ {
			got, err, _ := s.Next()
			want := error(nil)
			if taken%3 == 0 {
				want = &rpc.Error{Code: rpc.CodePanic}
			}
			if !errors.Is(err, want) || err == nil && string(got) != arg(taken) {
				return fmt.Errorf("call %d: %q, %v; want the error %v", taken, got, err, want)
			}
		}
		if c.Err() != nil {
			return c.Err()
		}
	}
	return nil
}
