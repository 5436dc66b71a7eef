package kvl_test

import (
	"fmt"
	"testing"

	"github.com/remora-kv/remora/kvl"
)

// script decodes bytes to a model and the calls of a builder, with keys from a small set, so that
// they often coincide.
type script struct {
	b     []byte
	edges map[string]map[string][]string // from, name, to
}

// next returns a number in [0, n), or 0 at the end of the script.
func (s *script) next(n int) int {
	if len(s.b) == 0 {
		return 0
	}
	v := int(s.b[0]) % n
	s.b = s.b[1:]
	return v
}

func (s *script) key() string { return fmt.Sprint("key", s.next(12)) }

// attrs decodes the attributes of an item: names a to d, each at most once.
func (s *script) attrs() map[string]any {
	attrs := make(map[string]any)
	for _, name := range []string{"d", "a", "c", "b"} {
		switch s.next(5) {
		case 1:
			attrs[name] = make([]byte, s.next(256)*s.next(20))
		case 2:
			attrs[name] = []string{"", s.key()}[s.next(2)]
		case 3, 4:
			list := make([]string, s.next(40))
			for i := range list {
				list[i] = s.key()
			}
			attrs[name] = list
		}
	}
	return attrs
}

// edge adds an edge under a name that only edges have, or that items have lists of, too.
func (s *script) edge(t *testing.T, b *kvl.Builder) {
	from, to, name := s.key(), s.key(), []string{"e", "f"}[s.next(2)]
	for range 1 + s.next(60) {
		b.Edge([]byte(from), number(t, b, name), []byte(to))
		if s.edges[from] == nil {
			s.edges[from] = make(map[string][]string)
		}
		s.edges[from][name] = append(s.edges[from][name], to)
	}
}

// settle applies edges to a model and drops dangling links, as a builder does.
func (s *script) settle(m *model) {
	for _, it := range m.items {
		for name, list := range s.edges[it.key] {
			it.attrs[name] = list
		}
		for name, v := range it.attrs {
			switch v := v.(type) {
			case string:
				if v != "" && m.byKey[v] == nil {
					delete(it.attrs, name)
				}
			case []string:
				kept := []string{}
				for _, key := range v {
					if m.byKey[key] != nil {
						kept = append(kept, key)
					}
				}
				it.attrs[name] = kept
			}
		}
	}
}

// FuzzBuilder compares images with a model, for any order of calls.
func FuzzBuilder(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 1, 1, 200, 10, 2, 1, 3, 4, 20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	f.Add([]byte("\x01\x02\x03\x00\x3a\x00\x02\x03\x02\x01\x05\x01\x05\x04\x01\x39"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &script{b: b, edges: make(map[string]map[string][]string)}
		inline := []int{-1, 1, 3, 16}[s.next(4)]
		bld := newBuilder(t, kvl.Config{Generation: 1, AreaSize: 4 << 10, Inline: inline, Dangling: kvl.Drop})
		m := newModel()
		for len(s.b) > 0 && len(m.items) < 12 {
			if s.next(3) == 1 {
				s.edge(t, bld)
				continue
			}
			key := s.key()
			if m.byKey[key] != nil {
				continue
			}
			m.item("t", key, s.attrs())
			if err := addItem(t, bld, m.byKey[key]); err != nil {
				t.Fatal(err)
			}
		}
		s.settle(m)
		m.check(t, seal(t, bld))
	})
}
