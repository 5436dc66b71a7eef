package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/test/scale"
)

// Operations on the same keys stand in one frame, more of them than are announced,
// and among them parts of messages that are longer than a frame: what is known of a
// message from its announcement is used for no other.
func TestBatchOfChangesAndGets(t *testing.T) {
	for _, engine := range realEngines {
		t.Run(engine, func(t *testing.T) {
			r := newRig(t, provider.Shm)
			cfg := r.config()
			cfg.Engine = engine
			r.start(cfg)
			s := session(t, r.dial(), remora.WithBatch(256), remora.WithWindow(4))
			for round := range scale.Times(30) {
				b := &batch{t: t, s: s}
				for i := range 60 {
					key := fmt.Sprint("k", i%7, round%3)
					b.put(key, fmt.Appendf(nil, "%d in round %d", i, round))
					b.get(key)
					if i%20 == 9 {
						b.put(key, bytes.Repeat([]byte{byte(i)}, 5000+i))
						b.get(key)
					}
					if i%5 == 3 {
						b.del(key)
						b.get(key)
					}
				}
				b.finish()
			}
		})
	}
}

// batch starts operations, and knows what they are to find.
type batch struct {
	t     *testing.T
	s     *remora.Session
	held  map[string][]byte
	wants map[uint64][]byte // by tag; nil: nothing
	tags  uint64
}

func (b *batch) started(want []byte, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	if b.wants == nil {
		b.wants = make(map[uint64][]byte)
	}
	b.wants[b.tags] = want
	b.tags++
}

// room takes results until another operation can be started.
func (b *batch) room(start func() error) error {
	for {
		err := start()
		if !errors.Is(err, remora.ErrWindowFull) {
			return err
		}
		b.take()
	}
}

func (b *batch) put(key string, value []byte) {
	b.t.Helper()
	if b.held == nil {
		b.held = make(map[string][]byte)
	}
	b.held[key] = value
	b.started([]byte{}, b.room(func() error { return b.s.StartPut(b.tags, key, remora.Entry{Value: value}, remora.Always()) }))
}

func (b *batch) get(key string) {
	b.t.Helper()
	b.started(b.held[key], b.room(func() error { return b.s.StartGet(b.tags, key) }))
}

func (b *batch) del(key string) {
	b.t.Helper()
	delete(b.held, key)
	b.started([]byte{}, b.room(func() error { return b.s.StartDelete(b.tags, key) }))
}

// take takes a result.
func (b *batch) take() {
	b.t.Helper()
	r, err := b.s.Next(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	want, ok := b.wants[r.Tag]
	delete(b.wants, r.Tag)
	switch {
	case !ok:
		b.t.Fatalf("a second result with tag %d", r.Tag)
	case want == nil:
		if !errors.Is(r.Err, remora.ErrNotFound) {
			b.t.Errorf("operation %d found %.20q, %v, where nothing is", r.Tag, r.Item.Value, r.Err)
		}
	case r.Err != nil || !bytes.Equal(r.Item.Value, want):
		b.t.Errorf("operation %d: %.20q, %v, want %.20q", r.Tag, r.Item.Value, r.Err, want)
	}
}

func (b *batch) finish() {
	b.t.Helper()
	for b.s.Pending() != 0 {
		b.take()
	}
	if len(b.wants) != 0 {
		b.t.Errorf("%d operations have no result", len(b.wants))
	}
}
