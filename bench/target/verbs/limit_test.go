package verbs

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/internal/cycles"
)

// boxesOf makes the two programs of a limit over memory of this process.
func boxesOf(t *testing.T, c Case) (*limitClient, *limitServer) {
	t.Helper()
	b, err := limitMemory(&c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Free() })
	k, okClient := limitSide(b.Bytes(), &c, client).(*limitClient)
	s, okServer := limitSide(b.Bytes(), &c, server).(*limitServer)
	if !okClient || !okServer {
		t.Fatal("not the programs of a limit")
	}
	return k, s
}

// task is what a worker does.
type task func(m *load.Meter) error

func (f task) Run(_ context.Context, m *load.Meter) error { return f(m) }

// A reply that comes only after the client has stopped to look for it is
// neither asked for again nor overwritten.
func TestALateReplyIsNotOverwritten(t *testing.T) {
	for _, one := range []bool{true, false} {
		k, s := boxesOf(t, Case{Kind: kindLimit, Size: wordSize, Window: 1, OneLine: one})
		var stop atomic.Bool
		_, err := load.Run(t.Context(), []load.Worker{task(func(m *load.Meter) error {
			k.m = m
			if made := k.tight(1); made != 0 {
				return fmt.Errorf("%d calls were answered by nobody", made)
			}
			s.serve(1)
			done := make(chan struct{})
			go func() {
				defer close(done)
				for !stop.Load() {
					s.serve(1 << 10)
				}
			}()
			err := k.many(100)
			stop.Store(true)
			<-done
			return err
		})}, load.Budget{Ops: 1}, cycles.Calibrate(), nil)
		if err != nil {
			t.Errorf("one line %v: %v", one, err)
		}
		if k.got != 100 || k.sent != 100 || s.seq != 100 {
			t.Errorf("one line %v: %d asked, %d answered, %d replies", one, k.sent, s.seq, k.got)
		}
	}
}
