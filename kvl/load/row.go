package load

import (
	"bytes"
	"context"
	"fmt"
)

// row adds an item or an edge for a row.
func (p *tablePlan) row(ctx context.Context, l *loading, row [][]byte) error {
	l.now.Done++
	if err := l.counted(ctx); err != nil {
		return err
	}
	if p.from != nil {
		p.edge(l, row)
		return nil
	}
	if err := p.item(l, row); err != nil {
		return fmt.Errorf("row %d: %w", l.table.Rows, err)
	}
	return nil
}

func (p *tablePlan) item(l *loading, row [][]byte) error {
	var ok bool
	if l.key, ok = p.key.append(l.key[:0], row); !ok {
		return fmt.Errorf("a column of its key is NULL (%v)", p.table.Key)
	}
	l.b.Begin(p.typ, l.key)
	for _, v := range p.values {
		if value := row[v.column]; value != nil {
			l.b.Bytes(v.name, value)
		}
	}
	l.target, l.targets = l.target[:0], l.targets[:0]
	for i := range p.links {
		start := len(l.target)
		if l.target, ok = p.links[i].append(l.target, row); ok {
			l.b.Link(p.links[i].name, l.target[start:])
			l.count(&l.report.Links)
		}
		l.targets = append(l.targets, len(l.target))
	}
	if err := l.b.End(); err != nil {
		return err
	}
	p.back(l)
	return nil
}

// back adds the item to the reverse lists of its targets.
func (p *tablePlan) back(l *loading) {
	start := 0
	for i, end := range l.targets {
		if p.links[i].reverse != 0 && end > start {
			l.b.Edge(l.target[start:end], p.links[i].reverse, l.key)
			l.report.Reverse++
		}
		start = end
	}
}

func (p *tablePlan) edge(l *loading, row [][]byte) {
	var a, b bool
	l.key, a = p.from.append(l.key[:0], row)
	l.target, b = p.to.append(l.target[:0], row)
	if !a || !b {
		return // an end is NULL: there is no edge
	}
	if p.list != 0 {
		l.b.Edge(l.key, p.list, l.target)
		l.count(&l.report.Links)
	}
	if p.reverse != 0 {
		l.b.Edge(l.target, p.reverse, l.key)
		l.report.Reverse++
	}
}

// count counts a link, in total and for the table.
func (l *loading) count(total *int64) {
	*total++
	l.table.Links++
}

// append appends the key of a link's target to b. ok is false if the link leads nowhere; then
// out is b.
func (p *linkPlan) append(b []byte, row [][]byte) (out []byte, ok bool) {
	if p.refer == nil {
		return p.key.append(b, row)
	}
	for _, c := range p.refer {
		if row[c] == nil {
			return b, false
		}
	}
	if out, ok = p.key.append(b, row); ok {
		return out, true
	}
	// The join found no row. Return a name of the missing target that no key has, unless a key
	// imitates it, so that the link is reported as dangling.
	b = append(b, p.key.prefix...)
	for i, c := range p.refer {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, p.names[i]...), '='), row[c]...)
	}
	return b, true
}

// append appends a key to b. ok is false if a column is NULL; then out is b.
func (k *keyPlan) append(b []byte, row [][]byte) (out []byte, ok bool) {
	out = b
	out = append(out, k.prefix...)
	for i, c := range k.columns {
		v := row[c]
		if v == nil {
			return b, false
		}
		if i > 0 {
			out = append(out, ',')
		}
		if len(k.columns) > 1 && bytes.ContainsAny(v, `,\`) {
			out = appendEscaped(out, v)
		} else {
			out = append(out, v...)
		}
	}
	return out, true
}

// appendEscaped appends a value of a key of several columns (L4).
func appendEscaped(b, v []byte) []byte {
	for _, c := range v {
		if c == ',' || c == '\\' {
			b = append(b, '\\')
		}
		b = append(b, c)
	}
	return b
}
