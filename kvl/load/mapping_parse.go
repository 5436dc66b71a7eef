package load

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// ReadMapping reads a mapping from a file.
func ReadMapping(file string) (*Mapping, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("mapping: %w", err)
	}
	return ParseMapping(file, text)
}

// ParseMapping parses a mapping. Its errors are of type *MappingError and name file, which
// may be empty.
func ParseMapping(file string, text []byte) (*Mapping, error) {
	m := &Mapping{file: file, lines: map[string]int{}}
	root, err := parseTree(m, text)
	if err != nil {
		return nil, err
	}
	return m, m.fields("", root, fields{
		"tables": func(at string, n *node) error { return each(m, at, n, &m.Tables, m.parseTable) },
		"edges":  func(at string, n *node) error { m.Edges = newEdges(); return m.parseEdges(at, n) },
	})
}

// fields maps the names of the fields of an object to the functions that parse them.
type fields map[string]func(at string, n *node) error

// fields parses an object.
func (m *Mapping) fields(at string, n *node, known fields) error {
	if n.members == nil {
		return m.wrong(at, "must be an object: {...}")
	}
	for _, f := range n.members {
		read := known[f.name]
		if read == nil {
			return m.wrong(join(at, f.name), "unknown field; use %s", names(known))
		}
		if err := read(join(at, f.name), f.value); err != nil {
			return err
		}
	}
	return nil
}

func names(known fields) string {
	var all []string
	for name := range known {
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// each parses the elements of an array.
func each[T any](m *Mapping, at string, n *node, to *[]T, read func(at string, n *node, to *T) error) error {
	list, ok := n.value.([]*node)
	if !ok {
		return m.wrong(at, "must be a list: [...]")
	}
	*to = make([]T, len(list))
	for i, e := range list {
		if err := read(fmt.Sprintf("%s[%d]", at, i), e, &(*to)[i]); err != nil {
			return err
		}
	}
	return nil
}

func (m *Mapping) text(to *string) func(at string, n *node) error {
	return func(at string, n *node) error { return m.parseText(at, n, to) }
}

func (m *Mapping) parseText(at string, n *node, to *string) (err error) {
	s, ok := n.value.(string)
	if !ok {
		return m.wrong(at, "must be a string: \"...\"")
	}
	*to = s
	return nil
}

func (m *Mapping) optional(to **string) func(at string, n *node) error {
	return func(at string, n *node) error {
		*to = new(string)
		return m.parseText(at, n, *to)
	}
}

func (m *Mapping) texts(to *[]string) func(at string, n *node) error {
	return func(at string, n *node) error { return each(m, at, n, to, m.parseText) }
}

func (m *Mapping) truth(to *bool) func(at string, n *node) error {
	return func(at string, n *node) error {
		v, ok := n.value.(bool)
		if !ok {
			return m.wrong(at, "must be true or false")
		}
		*to = v
		return nil
	}
}

func (m *Mapping) parseTable(at string, n *node, t *Table) error {
	err := m.fields(at, n, fields{
		"table": m.text(&t.Table), "type": m.text(&t.Type), "prefix": m.optional(&t.Prefix), "key": m.texts(&t.Key),
		"attributes": func(at string, n *node) error { return m.parseAttributes(at, n, &t.Attributes) },
		"links":      func(at string, n *node) error { return each(m, at, n, &t.Links, m.parseReference) },
		"edge":       func(at string, n *node) error { t.Edge = &Edge{}; return m.parseEdge(at, n, t.Edge) },
	})
	if err == nil && t.Table == "" {
		err = m.wrong(at, "does not name its table")
	}
	if err == nil && t.Edge != nil && len(t.Key)+len(t.Attributes)+len(t.Links) > 0 {
		err = m.wrong(join(at, "edge"), "an edge table has no key, attributes or links: remove them, or edge")
	}
	return err
}

func (m *Mapping) parseAttributes(at string, n *node, to *Attributes) error {
	if n.members == nil {
		return m.wrong(at, "must be an object: {\"column\": \"attribute\", ...}")
	}
	*to = make(Attributes, len(n.members))
	for i, f := range n.members {
		(*to)[i].Column = f.name
		if err := m.parseText(join(at, f.name), f.value, &(*to)[i].Name); err != nil {
			return err
		}
	}
	return nil
}

func (m *Mapping) parseReference(at string, n *node, r *Reference) error {
	return m.fields(at, n, fields{
		"attribute": m.text(&r.Attribute), "columns": m.texts(&r.Columns), "table": m.text(&r.Table), "to": m.texts(&r.To),
		"reverse": m.optional(&r.Reverse),
	})
}

func (m *Mapping) parseEdge(at string, n *node, e *Edge) error {
	end := func(r *Reference) func(at string, n *node) error {
		return func(at string, n *node) error {
			return m.fields(at, n, fields{"columns": m.texts(&r.Columns), "table": m.text(&r.Table), "to": m.texts(&r.To)})
		}
	}
	err := m.fields(at, n, fields{
		"from": end(&e.From), "to": end(&e.To), "list": m.text(&e.List), "reverse": m.text(&e.Reverse),
	})
	if err == nil && e.List == "" && e.Reverse == "" {
		err = m.wrong(at, "needs list or reverse, or the rows would be lost")
	}
	return err
}

// newEdges returns the defaults of Edges.
func newEdges() *Edges { return &Edges{Type: "node", List: "to", Reverse: "from"} }

func (m *Mapping) parseEdges(at string, n *node) error {
	e := m.Edges
	err := m.fields(at, n, fields{
		"type": m.text(&e.Type), "prefix": m.text(&e.Prefix), "list": m.text(&e.List), "reverse": m.text(&e.Reverse),
		"header": m.truth(&e.Header),
	})
	if err == nil && e.List == "" && e.Reverse == "" {
		err = m.wrong(at, "needs list or reverse, or the edges would be lost")
	}
	return err
}
