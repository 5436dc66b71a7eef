package load

import (
	"fmt"
	"slices"
)

// check returns an error if the database lacks a table or column of the mapping, or if the
// mapping gives one name to two attributes.
func (c *completion) check() error {
	for i := range c.out.Tables {
		t, at := &c.out.Tables[i], fmt.Sprintf("tables[%d]", i)
		if t.Edge != nil {
			if err := c.checkEdge(at+".edge", t); err != nil {
				return err
			}
			continue
		}
		if err := c.checkTable(at, t); err != nil {
			return err
		}
	}
	return c.checkReverse()
}

func (c *completion) checkTable(at string, t *Table) error {
	if err := c.checkColumns(at+".key", t.Table, t.Key); err != nil {
		return err
	}
	taken := map[string]bool{}
	for j, a := range t.Attributes {
		field := join(at+".attributes", a.Column)
		if err := c.checkColumns(field, t.Table, []string{a.Column}); err != nil {
			return err
		}
		if err := c.take(taken, field, a.Name); err != nil {
			return err
		}
		t.Attributes[j].Column = c.cat.column(c.cat.table(t.Table), a.Column).name
	}
	for j := range t.Links {
		field := fmt.Sprintf("%s.links[%d]", at, j)
		if err := c.checkReference(field, t.Table, &t.Links[j]); err != nil {
			return err
		}
		if err := c.take(taken, field+".attribute", t.Links[j].Attribute); err != nil {
			return err
		}
	}
	return nil
}

// take records that a name is in use.
func (c *completion) take(taken map[string]bool, field, name string) error {
	switch {
	case name == "":
		return c.given.wrong(field, "the attribute has no name")
	case taken[name]:
		return c.given.wrong(field, "two attributes have the name %q", name)
	}
	taken[name] = true
	return nil
}

// checkColumns returns an error unless the table has all columns.
func (c *completion) checkColumns(field, table string, columns []string) error {
	if len(columns) == 0 {
		return c.given.wrong(field, "names no columns")
	}
	info := c.cat.table(table)
	for _, name := range columns {
		if c.cat.column(info, name) == nil {
			return c.given.wrong(field, "table %q has no column %q%s", info.name, name, oneOf("columns", name, info.columnNames()))
		}
	}
	return nil
}

// checkReference verifies the columns and the target of a reference, and corrects their names.
func (c *completion) checkReference(at, table string, r *Reference) error {
	if err := c.checkColumns(at+".columns", table, r.Columns); err != nil {
		return err
	}
	target := c.mapped(r.Table)
	switch {
	case r.Table == "":
		return c.given.wrong(at, "does not name the table that it refers to")
	case c.cat.table(r.Table) == nil:
		return c.given.wrong(at+".table", "there is no table %q%s", r.Table, oneOf("tables", r.Table, c.cat.tableNames()))
	case target == nil:
		return c.given.wrong(at+".table", "table %q is not in the mapping", r.Table)
	case target.Edge != nil:
		return c.given.wrong(at+".table", "%q is an edge table: it has no items to refer to", r.Table)
	}
	to := r.To
	if len(to) == 0 {
		to = target.Key
	} else if err := c.checkColumns(at+".to", target.Table, to); err != nil {
		return err
	}
	if len(to) != len(r.Columns) {
		return c.given.wrong(at+".columns", "%d columns refer to %d of %q: %v", len(r.Columns), len(to), target.Table, to)
	}
	r.Table, r.Columns = target.Table, c.cat.trueNames(c.cat.table(table), r.Columns)
	if r.To = c.cat.trueNames(c.cat.table(target.Table), r.To); len(r.To) == 0 {
		r.To = nil
	}
	return nil
}

func (c *completion) checkEdge(at string, t *Table) error {
	if err := c.checkReference(at+".from", t.Table, &t.Edge.From); err != nil {
		return err
	}
	return c.checkReference(at+".to", t.Table, &t.Edge.To)
}

// checkReverse returns an error if a list has the name of another attribute of its items.
// Two references may fill one list.
func (c *completion) checkReverse() error {
	for i, t := range c.out.Tables {
		at := fmt.Sprintf("tables[%d]", i)
		if t.Edge != nil {
			if err := c.checkList(at+".edge.list", t.Edge.From.Table, t.Edge.List); err != nil {
				return err
			}
			if err := c.checkList(at+".edge.reverse", t.Edge.To.Table, t.Edge.Reverse); err != nil {
				return err
			}
		}
		for j, r := range t.Links {
			if err := c.checkList(fmt.Sprintf("%s.links[%d].reverse", at, j), r.Table, *r.Reverse); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *completion) checkList(field, table, list string) error {
	t := c.mapped(table)
	if slices.ContainsFunc(t.Attributes, func(a Attribute) bool { return a.Name == list }) ||
		slices.ContainsFunc(t.Links, func(r Reference) bool { return r.Attribute == list }) {
		return c.given.wrong(field, "items of %q have an attribute %q already: give the list another name", table, list)
	}
	return nil
}
