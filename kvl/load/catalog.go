package load

import (
	"slices"
	"strings"
)

// catalog describes the tables of a database.
type catalog struct {
	tables []*tableInfo
	// fold says that names are compared without regard to case, as in SQLite.
	fold bool
}

// tableInfo is a table of a database.
type tableInfo struct {
	name    string // as in a mapping
	from    string // as in FROM, quoted
	order   string // expression for ORDER BY, on the table's alias t; empty: none
	columns []columnInfo
	key     []string // columns of the primary key, or the row number if there is none; may be empty
	foreign []foreignKey
	rows    int64 // an estimate, 0 if unknown
}

// columnInfo is a column.
type columnInfo struct {
	name   string
	hidden bool // the row number: can be named, but is an attribute only on request
	binary bool // PostgreSQL sends it in its binary format
	opaque bool // its declared type must be hidden from SQLite's driver
}

// foreignKey is a foreign key in the catalog of the database.
type foreignKey struct {
	columns []string
	table   string   // as in a mapping
	to      []string // referenced columns; empty: the primary key
}

func (c *catalog) same(a, b string) bool { return a == b || c.fold && strings.EqualFold(a, b) }

// table returns a table, or nil if there is none.
func (c *catalog) table(name string) *tableInfo {
	i := slices.IndexFunc(c.tables, func(t *tableInfo) bool { return c.same(t.name, name) })
	if i < 0 {
		return nil
	}
	return c.tables[i]
}

// column returns a column of a table, or nil if there is none.
func (c *catalog) column(t *tableInfo, name string) *columnInfo {
	i := slices.IndexFunc(t.columns, func(col columnInfo) bool { return c.same(col.name, name) })
	if i < 0 {
		return nil
	}
	return &t.columns[i]
}

// trueNames returns the names of columns as the database spells them.
func (c *catalog) trueNames(t *tableInfo, names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = n
		if col := c.column(t, n); col != nil {
			out[i] = col.name
		}
	}
	return out
}

func (c *catalog) tableNames() []string {
	var names []string
	for _, t := range c.tables {
		names = append(names, t.name)
	}
	return names
}

func (t *tableInfo) columnNames() []string {
	var names []string
	for _, c := range t.columns {
		names = append(names, c.name)
	}
	return names
}

// quote returns a name as a quoted SQL identifier.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
