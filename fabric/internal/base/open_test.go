package base_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// A queue pair breaks once, whichever side tries, and only a vague reason is replaced.
func TestLife(t *testing.T) {
	var l base.Life
	l.Begin()
	if !l.Ready() || l.Err() != nil {
		t.Errorf("at first: %v, %v", l.State(), l.Err())
	}
	var wg sync.WaitGroup
	fell := make(chan error, 8)
	for i := range cap(fell) {
		wg.Go(func() {
			if err := fmt.Errorf("%d: %w", i, fabric.ErrDisconnected); l.Fall(err) {
				fell <- err
			}
		})
	}
	<-l.Done()
	wg.Wait()
	if len(fell) != 1 || l.State() != fabric.StateError || !errors.Is(l.Err(), <-fell) {
		t.Errorf("after falling: %d times, %v, %v", len(fell), l.State(), l.Err())
	}
	for _, better := range []error{io.EOF, io.ErrUnexpectedEOF} {
		l.Explain(better, fabric.ErrDisconnected)
		if err := l.Err(); !errors.Is(err, io.EOF) {
			t.Errorf("explained by %v: %v", better, err)
		}
	}
}

// What is noted is done by the owner, in order, and nothing is taken after the end.
func TestNotes(t *testing.T) {
	var n base.Notes
	var err error
	if n.Pipe, err = base.NewWakePipe(); err != nil {
		t.Fatal(err)
	}
	var did []int
	for i := range 3 {
		if !n.Note(func() { did = append(did, i) }) || !n.Noted() || len(did) != 0 {
			t.Errorf("note %d: noted %v, done %v", i, n.Noted(), did)
		}
	}
	n.Attend()
	if !slices.Equal(did, []int{0, 1, 2}) || n.Noted() {
		t.Errorf("noted %v, done %v", n.Noted(), did)
	}
	n.Note(func() {})
	if left := n.CloseNotes(); len(left) != 1 || n.Note(func() {}) {
		t.Errorf("%d notes left at the end", len(left))
	}
}

type closer struct{ closed int }

func (c *closer) Close() error { c.closed++; return nil }

// What is open when the set is closed, or comes later, is closed, and nothing else.
func TestOpenSet(t *testing.T) {
	var s base.OpenSet[*closer]
	var removed, open, late closer
	added := s.Add(&removed) && s.Add(&open)
	s.Remove(&removed)
	s.Close()
	if !added || s.Add(&late) || removed.closed != 0 || open.closed != 1 || late.closed != 1 {
		t.Errorf("added %v; closed: removed %d, open %d, late %d", added, removed.closed, open.closed, late.closed)
	}
}
