package load

import (
	"fmt"
	"slices"
	"strings"
)

// query is a statement, and what it selects.
type query struct {
	text    string
	columns []columnInfo
}

// tablePlan is what is done with each row of a table.
type tablePlan struct {
	table  *Table
	query  query
	typ    uint16
	key    keyPlan
	values []valuePlan
	links  []linkPlan

	// list and reverse are the lists that an edge is added to, 0 for none; from and to its
	// ends. For other tables from is nil.
	from, to      *linkPlan
	list, reverse uint16
}

// valuePlan is an attribute.
type valuePlan struct {
	name   uint16
	column int
}

// keyPlan makes a key of columns of a row.
type keyPlan struct {
	prefix  []byte
	columns []int
}

// linkPlan makes a link.
type linkPlan struct {
	name    uint16
	reverse uint16 // 0: none
	key     keyPlan
	// refer are the columns that refer and names those they refer to, where the key is of
	// other columns, which a join found.
	refer []int
	names []string
}

// selection collects what a query selects.
type selection struct {
	c     *completion
	info  *tableInfo
	items []string // expressions
	from  string
	joins int
	query query
}

// plan resolves names once, so that a row needs none.
func (l *loading) plan(c *completion, t *Table) (*tablePlan, error) {
	p := &tablePlan{table: t}
	s := &selection{c: c, info: c.cat.table(t.Table)}
	s.from = s.info.from + " AS t"
	var err error
	if t.Edge != nil {
		err = l.planEdge(p, s)
	} else {
		err = l.planItem(p, s)
	}
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", t.Table, err)
	}
	s.query.text = "SELECT " + strings.Join(s.items, ", ") + " FROM " + s.from
	if s.info.order != "" {
		s.query.text += " ORDER BY " + s.info.order
	}
	p.query = s.query
	return p, nil
}

func (l *loading) planItem(p *tablePlan, s *selection) (err error) {
	t := p.table
	if p.typ, err = l.b.Name(t.Type); err != nil {
		return err
	}
	p.key = keyPlan{prefix: []byte(*t.Prefix), columns: s.columns(t.Key)}
	for _, a := range t.Attributes {
		v := valuePlan{column: s.column("t", s.info, a.Column)}
		if v.name, err = l.b.Name(a.Name); err != nil {
			return err
		}
		p.values = append(p.values, v)
	}
	for i := range t.Links {
		r := &t.Links[i]
		link := s.link(r)
		if link.name, err = l.b.Name(r.Attribute); err != nil {
			return err
		}
		if link.reverse, err = l.backName(*r.Reverse); err != nil {
			return err
		}
		p.links = append(p.links, link)
	}
	return nil
}

func (l *loading) planEdge(p *tablePlan, s *selection) (err error) {
	from, to := s.link(&p.table.Edge.From), s.link(&p.table.Edge.To)
	p.from, p.to = &from, &to
	if p.list, err = l.listName(p.table.Edge.List); err != nil {
		return err
	}
	name := l.backName
	if p.list == 0 {
		name = l.listName // it is all there is of the edge
	}
	p.reverse, err = name(p.table.Edge.Reverse)
	return err
}

// listName is the number of a list, 0 for none.
func (l *loading) listName(name string) (uint16, error) {
	if name == "" {
		return 0, nil
	}
	return l.b.Name(name)
}

// backName is the number of a list of links back, 0 for none. What dangles is told of the
// links that they go with.
func (l *loading) backName(name string) (uint16, error) {
	n, err := l.listName(name)
	if n != 0 {
		l.b.Back(n)
	}
	return n, err
}

// column selects a column of a table, once, and returns which value of a row it is.
func (s *selection) column(alias string, info *tableInfo, name string) int {
	col := *s.c.cat.column(info, name)
	item := alias + "." + quote(col.name)
	if col.opaque {
		item = "+" + item
	}
	if i := slices.Index(s.items, item); i >= 0 {
		return i
	}
	s.items = append(s.items, item)
	s.query.columns = append(s.query.columns, col)
	return len(s.items) - 1
}

// columns selects columns of the table itself.
func (s *selection) columns(names []string) []int {
	var out []int
	for _, n := range names {
		out = append(out, s.column("t", s.info, n))
	}
	return out
}

// link selects what makes the key of where a reference leads.
func (s *selection) link(r *Reference) linkPlan {
	target := s.c.mapped(r.Table)
	p := linkPlan{key: keyPlan{prefix: []byte(*target.Prefix)}}
	if len(r.To) == 0 {
		p.key.columns = s.columns(r.Columns)
		return p
	}
	if order := permutation(target.Key, r.To); order != nil {
		for _, i := range order {
			p.key.columns = append(p.key.columns, s.column("t", s.info, r.Columns[i]))
		}
		return p
	}
	p.refer, p.names = s.columns(r.Columns), r.To
	alias, info := s.join(r)
	for _, k := range target.Key {
		p.key.columns = append(p.key.columns, s.column(alias, info, k))
	}
	return p
}

// permutation says which of names each of key is, nil if they are not the same columns.
func permutation(key, names []string) []int {
	if len(key) != len(names) {
		return nil
	}
	order := make([]int, len(key))
	for i, k := range key {
		if order[i] = slices.Index(names, k); order[i] < 0 {
			return nil
		}
	}
	return order
}

// join adds the table that a reference leads to, to find its key by other columns.
func (s *selection) join(r *Reference) (alias string, info *tableInfo) {
	s.joins++
	alias, info = fmt.Sprintf("j%d", s.joins), s.c.cat.table(r.Table)
	var on []string
	for i, c := range r.Columns {
		on = append(on, alias+"."+quote(r.To[i])+" = t."+quote(c))
	}
	s.from += " LEFT JOIN " + info.from + " AS " + alias + " ON " + strings.Join(on, " AND ")
	return alias, info
}
