package kvl_test

import (
	"testing"

	"github.com/remora-kv/remora/kvl"
)

func TestLinks(t *testing.T) {
	for _, want := range []struct {
		area       int
		off        int64
		length     int
		generation uint64
	}{
		{0, 0, 24, 0},
		{1, 8, 32, 1},
		{kvl.MaxAreas - 1, kvl.MaxArea - 8, kvl.MaxRecord, 1<<64 - 1},
	} {
		l := kvl.NewLink(want.area, want.off, want.length, want.generation)
		b := make([]byte, kvl.LinkSize)
		l.Put(b)
		got := kvl.ParseLink(b)
		if got != l || got.IsZero() || got.Area() != want.area || got.Offset() != want.off || got.Len() != want.length {
			t.Errorf("%v, want %+v", got, want)
		}
		if !got.Of(want.generation) || got.Of(want.generation+1) {
			t.Errorf("%v is of a generation that is not %d", got, want.generation)
		}
	}
	if l := kvl.ParseLink(make([]byte, kvl.LinkSize)); l != (kvl.Link{}) || !l.IsZero() || l.String() != "nowhere" {
		t.Errorf("zeros are the link %v", l)
	}
}
