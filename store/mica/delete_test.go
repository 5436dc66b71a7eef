package mica

import (
	"errors"
	"testing"

	"github.com/remora-kv/remora/store"
)

// A table whose last item is deleted is as good as new.
func TestDeleteLast(t *testing.T) {
	eachMode(t, func(t *testing.T, with func(*store.Config)) {
		r := newRig(t, with)
		for range 3 {
			for i := range 3000 {
				r.put(numbered(i, 16), pattern(uint64(i), 60))
			}
			if !r.has(2999, 16, 60) {
				t.Fatal("the last item does not exist")
			}
			for i := range 3000 {
				r.remove(i, 16)
			}
			if !r.ring.empty() || r.ring.head != logStart || r.lines() != 1 || r.plain != 0 {
				t.Fatalf("not empty after all items were deleted: %v, %d lines", &r.ring, r.lines())
			}
			r.check()
		}
	})
}

// A delete leaves a dead item behind, which stays in the log.
func TestDeleteMarks(t *testing.T) {
	r := newRig(t)
	for i := range 10 {
		r.put(numbered(i, 16), make([]byte, 32))
	}
	r.remove(4, 16)
	if r.ring.dead != 64 || r.stats.Items != 9 || r.stats.ItemBytes != 9*64 {
		t.Errorf("%v, %+v", &r.ring, r.Stats())
	}
	if err := r.Delete(r.key(numbered(4, 16)), store.Always(), 1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a second Delete: %v", err)
	}
	r.put(numbered(4, 16), nil)
	if !r.has(4, 16, 0) || r.stats.Items != 10 {
		t.Errorf("a deleted item still exists: %+v", r.Stats())
	}
}

// A call that comes across an expired item reclaims it, except Get,
// which must not change the table, and Put, if its condition is not met.
func TestReclaims(t *testing.T) {
	for name, c := range map[string]struct {
		call     func(r *rig, k store.Key) error
		reclaims bool
	}{
		"delete":    {func(r *rig, k store.Key) error { return r.Delete(k, store.Always(), 5) }, true},
		"delete if": {func(r *rig, k store.Key) error { return r.Delete(k, store.IfVersion(1), 5) }, true},
		"touch":     {func(r *rig, k store.Key) error { return r.Touch(k, 9, 5) }, true},
		"get":       {func(r *rig, k store.Key) error { _, err := r.Get(k, 5); return err }, false},
		"put":       {func(r *rig, k store.Key) error { _, err := r.Put(k, store.Entry{}, store.IfPresent(), 5); return err }, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			k := r.key([]byte("key"))
			if _, err := r.Put(k, store.Entry{Expires: 5}, store.Always(), 1); err != nil {
				t.Fatal(err)
			}
			if err := c.call(r, k); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("an item that has expired: %v", err)
			}
			if got := r.stats.Expired == 1 && r.stats.Items == 0; got != c.reclaims || r.stats.Deletes != 0 {
				t.Errorf("%+v", r.Stats())
			}
		})
	}
}
