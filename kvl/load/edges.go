package load

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
)

// edgeFile is a file with an edge on each line: two keys, separated by a comma, a
// semicolon, a tab or spaces, whichever the first edge has. The rest of a line is skipped, and
// so are lines that begin with #. Keys may be quoted as in CSV, but not contain the end of a
// line.
type edgeFile struct{ path string }

// String implements Source.
func (f *edgeFile) String() string { return f.path }

// Close implements Source.
func (f *edgeFile) Close() error { return nil }

// Mapping implements Source.
func (f *edgeFile) Mapping(_ context.Context, m *Mapping) (whole *Mapping, notes []string, err error) {
	if m == nil || m.Edges == nil {
		if m != nil && len(m.Tables) > 0 {
			return nil, nil, m.wrong("tables", "an edge list has no tables: describe it in \"edges\"")
		}
		return &Mapping{Edges: newEdges()}, nil, nil
	}
	return m, nil, nil
}

// edgeLoading is the load of an edge list.
type edgeLoading struct {
	*loading
	edges              *Edges
	separator          byte // 0: unknown so far
	typ, list, reverse uint16
	seen               map[string]struct{} // keys of items that were added
	from, to           []byte              // reused
	header             bool                // the header is the next line
}

func (f *edgeFile) load(ctx context.Context, m *Mapping, l *loading) error {
	whole, _, err := f.Mapping(ctx, m)
	if err != nil {
		return err
	}
	e := &edgeLoading{loading: l, edges: whole.Edges, seen: map[string]struct{}{}, header: whole.Edges.Header}
	if e.typ, err = l.b.Name(e.edges.Type); err != nil {
		return err
	}
	if e.list, err = l.listName(e.edges.List); err != nil {
		return err
	}
	if e.reverse, err = l.listName(e.edges.Reverse); err != nil {
		return err
	}
	return eachLine(f.path, l, func(text []byte) error {
		if text[0] == '#' {
			return nil
		}
		if e.header {
			e.header = false
			return nil
		}
		if err := l.counted(ctx); err != nil {
			return err
		}
		return e.edge(text)
	})
}

// edge adds an edge, and its ends if they are new.
func (e *edgeLoading) edge(text []byte) error {
	from, to, err := e.split(text)
	if err != nil {
		return err
	}
	e.from = append(append(e.from[:0], e.edges.Prefix...), from...)
	e.to = append(append(e.to[:0], e.edges.Prefix...), to...)
	for _, key := range [][]byte{e.from, e.to} {
		if _, ok := e.seen[string(key)]; ok {
			continue
		}
		e.seen[string(key)] = struct{}{}
		e.b.Begin(e.typ, key)
		if err := e.b.End(); err != nil {
			return err
		}
	}
	if e.list != 0 {
		e.b.Edge(e.from, e.list, e.to)
		e.count(&e.report.Links)
	}
	if e.reverse != 0 {
		e.b.Edge(e.to, e.reverse, e.from)
		e.report.Reverse++
	}
	return nil
}

var errNoEdge = errors.New("not an edge: want two keys, separated by a comma, a semicolon, a tab or spaces")

// split returns the two keys of a line.
func (e *edgeLoading) split(text []byte) (from, to []byte, err error) {
	if e.separator == 0 {
		i := bytes.IndexAny(text, ",;\t ")
		if i < 0 {
			return nil, nil, errNoEdge
		}
		e.separator = text[i]
	}
	if text[0] == '"' || bytes.IndexByte(text, '"') >= 0 && e.separator != ' ' {
		return e.splitQuoted(text)
	}
	from, rest, ok := bytes.Cut(text, []byte{e.separator})
	rest = bytes.TrimLeft(rest, " ")
	to, _, _ = bytes.Cut(rest, []byte{e.separator})
	from, to = bytes.TrimSpace(from), bytes.TrimSpace(to)
	if !ok || len(from) == 0 || len(to) == 0 {
		return nil, nil, errNoEdge
	}
	return from, to, nil
}

func (e *edgeLoading) splitQuoted(text []byte) (from, to []byte, err error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma = rune(e.separator)
	record, err := r.Read()
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errNoEdge, err)
	}
	if len(record) < 2 || record[0] == "" || record[1] == "" {
		return nil, nil, errNoEdge
	}
	return []byte(record[0]), []byte(record[1]), nil
}
