package backoff_test

import (
	"context"
	"testing"
	"time"

	"github.com/remora-kv/remora/internal/backoff"
)

func TestPausesGrow(t *testing.T) {
	b := backoff.New(8, 100)
	if b.Most() != 100 {
		t.Errorf("the longest is %v", b.Most())
	}
	for range 2 {
		for _, most := range []time.Duration{8, 16, 32, 64, 100, 100} {
			if d := b.Take(); d > most || d < most/2 {
				t.Errorf("a pause of %v, want %v to %v", d, most/2, most)
			}
		}
		b.Reset()
	}
}

func TestWaitEnds(t *testing.T) {
	long, over := backoff.New(time.Hour, time.Hour), make(chan struct{})
	close(over)
	if long.Wait(t.Context(), over) {
		t.Error("waited for what is over")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if long.Wait(ctx, nil) {
		t.Error("waited although it was told to stop")
	}
	short := backoff.New(1, 1)
	if !short.Wait(t.Context(), nil) {
		t.Error("did not wait")
	}
}
