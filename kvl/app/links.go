package app

import "github.com/remora-kv/remora/kvl"

// linkSink makes items with links.
type linkSink struct {
	b     *kvl.Builder
	kinds [kinds]uint16
	attrs [attrs]uint16
}

func newLinkSink(b *kvl.Builder) (*linkSink, error) {
	s := &linkSink{b: b}
	var err error
	for i, name := range kindNames {
		if s.kinds[i], err = b.Name(name); err != nil {
			return nil, err
		}
	}
	for i, name := range attrNames {
		if s.attrs[i], err = b.Name(name); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *linkSink) begin(t kind, key []byte)   { s.b.Begin(s.kinds[t], key) }
func (s *linkSink) bytes(a attr, value []byte) { s.b.Bytes(s.attrs[a], value) }
func (s *linkSink) link(a attr, key []byte)    { s.b.Link(s.attrs[a], key) }
func (s *linkSink) list(a attr)                { s.b.List(s.attrs[a]) }
func (s *linkSink) add(key []byte)             { s.b.Add(key) }
func (s *linkSink) end() error                 { return s.b.End() }

// Links gives all items to a builder, whose lists have Inline links in line.
func (g *Graph) Links(b *kvl.Builder) error { return fillLinks(g.fill, b) }

// Links is Graph.Links.
func (s *Shop) Links(b *kvl.Builder) error { return fillLinks(s.fill, b) }

// Links is Graph.Links.
func (c *City) Links(b *kvl.Builder) error { return fillLinks(c.fill, b) }

func fillLinks(fill func(sink) error, b *kvl.Builder) error {
	s, err := newLinkSink(b)
	if err != nil {
		return err
	}
	return fill(s)
}

// names are the attributes as an image numbers them.
type names [attrs]uint16

// namesOf looks names up. Those that an image has not are 0, as no attribute is.
func namesOf(s *kvl.Schema) (n names) {
	for i, name := range attrNames {
		n[i], _ = s.Number(name)
	}
	return n
}
