package load

import (
	"fmt"
	"slices"
	"strings"
)

// query is a SELECT statement, and its columns.
type query struct {
	text    string
	columns []columnInfo
}

// tablePlan says how to load each row of a table.
type tablePlan struct {
	table  *Table
	query  query
	typ    uint16
	key    keyPlan
	values []valuePlan
	links  []linkPlan

	// list and reverse are the lists that an edge is added to, 0 for none; from and to are its
	// ends. They are nil if the table is not an edge table.
	from, to      *linkPlan
	list, reverse uint16
}

// valuePlan is an attribute.
type valuePlan struct {
	name   uint16
	column int
}

// keyPlan makes a key from columns of a row.
type keyPlan struct {
	prefix  []byte
	columns []int
}

// linkPlan makes a link from columns of a row.
type linkPlan struct {
	name    uint16
	reverse uint16 // 0: none
	key     keyPlan
	// refer and names are the referring and the referenced columns if these are not the key of
	// the target; then key is from a join.
	refer []int
	names []string
}

// selection collects the parts of a query.
type selection struct {
	c     *completion
	info  *tableInfo
	items []string // expressions
	from  string
	joins int
	query query
}

// plan resolves all names of a table, so that rows need no lookups.
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
		name = l.listName // there is no other direction to report dangling links
	}
	p.reverse, err = name(p.table.Edge.Reverse)
	return err
}

// listName returns the number of a list, 0 for none.
func (l *loading) listName(name string) (uint16, error) {
	if name == "" {
		return 0, nil
	}
	return l.b.Name(name)
}

// backName returns the number of a list of links back, 0 for none. Dangling links are reported
// for the links in the other direction.
func (l *loading) backName(name string) (uint16, error) {
	n, err := l.listName(name)
	if n != 0 {
		l.b.Back(n)
	}
	return n, err
}

// column adds a column of a table to the query, once, and returns its index in rows.
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

// columns adds columns of the table itself.
func (s *selection) columns(names []string) []int {
	var out []int
	for _, n := range names {
		out = append(out, s.column("t", s.info, n))
	}
	return out
}

// link adds the columns that make the key of a reference's target.
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

// permutation returns the index in names of each column of key, nil if the columns differ.
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

// join adds the target table of a reference, to find its key by other columns.
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
