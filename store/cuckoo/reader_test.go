package cuckoo

import (
	"testing"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
)

// reader is a client that reads a table by its export alone.
type reader struct {
	*Finder
	t     testing.TB
	areas [][]byte
	buf   []byte
	spans int // of the last search
}

func (r *rig) reader() *reader {
	r.t.Helper()
	export := r.Export()
	f, err := NewFinder(export.Layout)
	if err != nil {
		r.t.Fatal(err)
	}
	rd := &reader{Finder: f, t: r.t}
	for _, a := range export.Areas {
		rd.areas = append(rd.areas, a.Bytes())
	}
	return rd
}

// read is a READ of a fabric.
func (r *reader) read(s store.Span) []byte {
	if s.Off%8 != 0 || s.Len <= 0 || s.Off < 0 || s.Off+int64(s.Len) > int64(len(r.areas[s.Area])) {
		r.t.Errorf("the span %+v is not in its area of %d bytes, or not aligned", s, len(r.areas[s.Area]))
		return nil
	}
	if cap(r.buf) < s.Len {
		r.buf = make([]byte, s.Len)
	}
	r.buf = r.buf[:s.Len]
	fence.CopyIn(r.buf, r.areas[s.Area][s.Off:s.Off+int64(s.Len)])
	return r.buf
}

// seek looks for a key, and calls between before each READ but the first.
func (r *reader) seek(k store.Key, between func(n int)) store.Outcome {
	span := r.Start(k)
	for r.spans = 1; ; r.spans++ {
		var outcome store.Outcome
		if span, outcome = r.Look(r.read(span)); outcome != store.More {
			return outcome
		}
		if between != nil {
			between(r.spans)
		}
	}
}
