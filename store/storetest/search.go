package storetest

import (
	"fmt"
	"slices"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
)

// search is one search by a Finder. It records the states of the key since Start, and
// judges the outcome by them.
type search struct {
	x      *exported
	f      store.Finder
	key    store.Key
	span   store.Span
	taken  int       // spans so far
	states []*record // states of the key; nil: it did not exist
	buf    []byte    // the bytes that the Finder got last
	loose  bool      // the bytes were not those of the memory: judge only Found
}

// start begins to look for a key.
func (x *exported) start(key []byte) *search {
	x.Helper()
	return x.startBy(x.finder, key)
}

// startBy is start with another Finder.
func (x *exported) startBy(f store.Finder, key []byte) *search {
	x.Helper()
	s := &search{x: x, f: f, key: store.Key{Hash: x.hash(key), Bytes: slices.Clone(key)}}
	s.note()
	s.span = s.f.Start(s.key)
	x.searches++
	return s
}

// note records the present state of the key.
func (s *search) note() {
	s.x.Helper()
	r := s.x.get(s.key.Bytes)
	if r != nil {
		copied := *r // Touch changes records
		r = &copied
	}
	s.states = append(s.states, r)
}

// memory returns the bytes of the span, in place.
func (s *search) memory() []byte {
	s.x.Helper()
	if fault := faultOfSpan(s.span); fault != "" {
		s.x.Fatalf("a Finder asks for %+v: %s", s.span, fault)
	}
	if s.span.Area >= len(s.x.ex.Areas) || s.span.Off > int64(s.x.ex.Areas[s.span.Area].Size()-s.span.Len) {
		s.x.Fatalf("a Finder asks for %+v, which is outside of the areas", s.span)
	}
	return s.x.ex.Areas[s.span.Area].Bytes()[s.span.Off:][:s.span.Len]
}

// faultOfSpan returns the fault of a span that is evident without the areas, or "".
func faultOfSpan(span store.Span) string {
	switch {
	case span.Area < 0 || span.Area >= store.MaxAreas:
		return "no engine has such an area"
	case span.Off < 0 || span.Len <= 0 || span.Off+int64(span.Len) < 0:
		return "the offset or length is invalid"
	case span.Off%8 != 0:
		return "it does not begin at a multiple of 8"
	}
	return ""
}

// read copies the span as a fabric does.
func (s *search) read() []byte {
	s.x.Helper()
	from := s.memory()
	b := s.buffer(len(from))
	fence.CopyIn(b, from)
	return b
}

// buffer returns n bytes without spare capacity.
func (s *search) buffer(n int) []byte {
	if cap(s.buf) < n {
		s.buf = make([]byte, n)
	}
	return s.buf[:n:n]
}

// look passes bytes to the Finder.
func (s *search) look(b []byte) store.Outcome {
	s.x.Helper()
	s.taken++
	s.x.spans++
	if most := s.x.engine.spans(); s.taken > most {
		s.x.Fatalf("a search for key %s asked for more than %d spans", short(s.key.Bytes), most)
	}
	next, outcome := s.f.Look(b)
	if outcome > store.Ask {
		s.x.Fatalf("Look returns the invalid outcome %d", outcome)
	}
	if outcome == store.More {
		s.span = next
	} else {
		s.judge(outcome, b)
	}
	return outcome
}

// finish reads spans until the Finder returns an outcome.
func (s *search) finish() store.Outcome {
	s.x.Helper()
	for {
		if outcome := s.look(s.read()); outcome != store.More {
			return outcome
		}
	}
}

// judge fails if the outcome matches none of the states of the key.
func (s *search) judge(outcome store.Outcome, last []byte) {
	s.x.Helper()
	switch outcome {
	case store.Found:
		s.judgeItem(last)
	case store.Missing:
		if !s.loose && !slices.Contains(s.states, nil) {
			s.x.Fatalf("key %s is Missing, but it existed all the time: %s", short(s.key.Bytes), s.history())
		}
	case store.Ask:
		s.x.asks++
	case store.More:
	}
}

// judgeItem fails if the item that was Found did not exist since Start.
func (s *search) judgeItem(last []byte) {
	s.x.Helper()
	item := s.f.Item()
	fits := func(r *record) bool {
		return r != nil && r.version == item.Version && r.flags == item.Flags && r.expires == item.Expires && string(r.value) == string(item.Value)
	}
	if !slices.ContainsFunc(s.states, fits) {
		s.x.Fatalf("key %s: Found version %d, flags %#x, expires %d, value %s; it was: %s", short(s.key.Bytes),
			item.Version, item.Flags, item.Expires, short(item.Value), s.history())
	}
	for i := range last {
		last[i] = scribble
	}
	for _, b := range item.Value {
		if b != scribble {
			s.x.Fatalf("the value of key %s is not a view of the bytes that were passed last", short(s.key.Bytes))
		}
	}
}

// history lists the states of the key since Start.
func (s *search) history() string {
	text := ""
	for _, r := range s.states {
		if r == nil {
			text += "[not there] "
			continue
		}
		text += fmt.Sprintf("[version %d, flags %#x, expires %d, value %s] ", r.version, r.flags, r.expires, short(r.value))
	}
	return text
}

// find looks for a key while nothing changes: the outcome must match the model.
func (x *exported) find(key []byte) store.Outcome {
	x.Helper()
	s := x.start(key)
	outcome := s.finish()
	if outcome == store.Missing && s.states[0] != nil {
		x.Fatalf("key %s is Missing, but it exists", short(key))
	}
	return outcome
}

// auditAsks fails if too many searches ended in Ask.
func (x *exported) auditAsks() {
	x.Helper()
	x.t.Logf("%d searches read %.2f spans each, %d ended in Ask", x.searches, float64(x.spans)/float64(x.searches), x.asks)
	if most := x.engine.Asks * float64(x.searches); float64(x.asks) > most {
		x.Fatalf("%d of %d searches ended in Ask, though nothing changed; want at most %.0f", x.asks, x.searches, most)
	}
}
