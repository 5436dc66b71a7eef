package herd_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/herd"
)

// leaper is a device whose clock leaps, as it does for a process that was stopped.
type leaper struct {
	fabric.Device
	leapt atomic.Int64
}

// Clock implements fabric.Device.
func (d *leaper) Clock() fabric.Clock { return d }

// Now implements fabric.Clock.
func (d *leaper) Now() int64 { return d.Device.Clock().Now() + d.leapt.Load() }

// A client that was stopped for longer than it tries a request, while one was on its
// way, tries it again before it gives up: the time in which nobody looked does not count.
func TestStoppedClientDoesNotGiveUp(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		release := make(chan struct{})
		r.Mux.Handle(98, func(_ *rpc.Call, out []byte) ([]byte, error) {
			<-release
			return append(out, "done"...), nil
		})
		r.serve(herd.ServerConfig{})
		dev := &leaper{Device: r.NewDevice()}
		c := r.dial(herd.ConnConfig{Device: dev, RetryAfter: time.Millisecond, GiveUp: patience})
		l := c.CoreConn(0)
		if err := l.Send(1, request(98, nil)); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			before := c.Stats().Retries
			await(t, "the request to be late", func() bool { c.Poll(); return c.Stats().Retries > before || c.Err() != nil })
			dev.leapt.Add(int64(time.Hour))
		}
		close(release)
		await(t, "the result", func() bool { c.Poll(); return l.Ready() || c.Err() != nil })
		if got, err, ok := l.Next(); !ok || err != nil || string(got) != "done" {
			t.Errorf("%q, %v, %v; %v", got, err, ok, c.Err())
		}
		if errors.Is(c.Err(), herd.ErrNoAnswer) {
			t.Error("it gave up")
		}
	})
}
