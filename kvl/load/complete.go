package load

import (
	"fmt"
	"slices"
	"strings"
)

// completion completes a mapping from the catalog.
type completion struct {
	cat   *catalog
	given *Mapping
	out   *Mapping
	// notes describe foreign keys that are not loaded although the mapping did not leave them out.
	notes []string
	// keyless are tables without a primary key that the mapping does not name.
	keyless []string
}

// complete completes a mapping; nil stands for the empty one.
func complete(cat *catalog, given *Mapping) (*completion, error) {
	if given == nil {
		given = &Mapping{}
	}
	c := &completion{cat: cat, given: given, out: &Mapping{file: given.file, lines: given.lines}}
	if given.Edges != nil {
		return nil, given.wrong("edges", "is for edge lists in files; for a table of edges, set \"edge\" of the table")
	}
	for _, step := range []func() error{c.tables, c.links, c.attributes, c.check} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// tables fills in the tables, with their types and keys.
func (c *completion) tables() error {
	if len(c.given.Tables) == 0 {
		for _, info := range c.cat.tables {
			if len(info.key) == 0 {
				c.keyless = append(c.keyless, info.name)
				continue
			}
			c.out.Tables = append(c.out.Tables, Table{Table: info.name})
		}
	}
	for i, t := range c.given.Tables {
		at := fmt.Sprintf("tables[%d]", i)
		info := c.cat.table(t.Table)
		if info == nil {
			return c.given.wrong(at+".table", "there is no table %q%s", t.Table, oneOf("tables", t.Table, c.cat.tableNames()))
		}
		if c.mapped(info.name) != nil {
			return c.given.wrong(at+".table", "%q is mapped twice", info.name)
		}
		t.Table = info.name
		c.out.Tables = append(c.out.Tables, t)
		if len(t.Key) == 0 && len(info.key) == 0 && t.Edge == nil {
			return c.given.wrong(at, "table %q has no primary key: name the columns of its key", info.name)
		}
	}
	for i := range c.out.Tables {
		c.identity(&c.out.Tables[i])
	}
	return nil
}

// identity fills in type, prefix and key.
func (c *completion) identity(t *Table) {
	if t.Edge != nil {
		t.Edge = &Edge{From: t.Edge.From, To: t.Edge.To, List: t.Edge.List, Reverse: t.Edge.Reverse}
		return
	}
	if t.Type == "" {
		t.Type = t.Table
	}
	if t.Prefix == nil {
		prefix := t.Table + "/"
		t.Prefix = &prefix
	}
	info := c.cat.table(t.Table)
	if len(t.Key) == 0 {
		t.Key = info.key
	}
	t.Key = c.cat.trueNames(info, t.Key)
}

// mapped returns a table of the mapping, or nil if it is not in it.
func (c *completion) mapped(name string) *Table {
	i := slices.IndexFunc(c.out.Tables, func(t Table) bool { return c.cat.same(t.Table, name) })
	if i < 0 {
		return nil
	}
	return &c.out.Tables[i]
}

// links fills in references: from the mapping, or else from the foreign keys.
func (c *completion) links() error {
	for i := range c.out.Tables {
		t := &c.out.Tables[i]
		if t.Edge != nil {
			continue
		}
		if t.Links == nil {
			t.Links = c.foreign(t)
		}
		t.Links = slices.Clone(t.Links)
		for j := range t.Links {
			r := &t.Links[j]
			r.Columns = c.cat.trueNames(c.cat.table(t.Table), r.Columns)
			if r.Attribute == "" {
				r.Attribute = freeName(t.Links[:j], strings.Join(r.Columns, ","), r.Table)
			}
			if r.Reverse == nil {
				reverse := t.Table + "." + r.Attribute
				r.Reverse = &reverse
			}
		}
	}
	return nil
}

// freeName returns a name for a link that no link before has: two foreign keys can have the
// same columns.
func freeName(before []Reference, name, table string) string {
	for slices.ContainsFunc(before, func(r Reference) bool { return r.Attribute == name }) {
		name += "." + table
	}
	return name
}

// foreign returns the foreign keys of a table that refer to tables of the mapping.
func (c *completion) foreign(t *Table) []Reference {
	info := c.cat.table(t.Table)
	refs := []Reference{}
	for _, f := range info.foreign {
		target := c.mapped(f.table)
		if target == nil || target.Edge != nil {
			c.notes = append(c.notes, fmt.Sprintf("table %s: the foreign key %s refers to %s, which is not loaded: it becomes no link",
				t.Table, strings.Join(f.columns, ","), f.table))
			continue
		}
		to := c.cat.trueNames(c.cat.table(target.Table), f.to)
		if slices.Equal(to, target.Key) {
			to = nil
		} else if len(to) == 0 && !slices.Equal(target.Key, c.cat.table(target.Table).key) {
			to = c.cat.table(target.Table).key // the mapping has another key
		}
		refs = append(refs, Reference{Columns: c.cat.trueNames(info, f.columns), Table: target.Table, To: to})
	}
	return refs
}

// attributes fills in the columns that become attributes.
func (c *completion) attributes() error {
	for i := range c.out.Tables {
		t := &c.out.Tables[i]
		if t.Attributes != nil || t.Edge != nil {
			t.Attributes = slices.Clone(t.Attributes)
			continue
		}
		t.Attributes = Attributes{}
		for _, col := range c.cat.table(t.Table).columns {
			if !col.hidden && !c.said(t, col.name) {
				t.Attributes = append(t.Attributes, Attribute{col.name, col.name})
			}
		}
	}
	return nil
}

// said reports whether the key or a link consists of a column alone, so that it need not be an
// attribute.
func (c *completion) said(t *Table, column string) bool {
	alone := func(columns []string) bool { return len(columns) == 1 && c.cat.same(columns[0], column) }
	return alone(t.Key) || slices.ContainsFunc(t.Links, func(r Reference) bool { return alone(r.Columns) })
}

// oneOf suggests a similar name, or lists the existing ones.
func oneOf(what, name string, all []string) string {
	for _, n := range all {
		if strings.EqualFold(n, name) || strings.HasSuffix(n, "."+name) {
			return fmt.Sprintf("; did you mean %q?", n)
		}
	}
	if len(all) == 0 {
		return "; there are no " + what
	}
	more := ""
	if len(all) > 12 {
		all, more = all[:12], ", ..."
	}
	return "; " + what + " are " + strings.Join(all, ", ") + more
}
