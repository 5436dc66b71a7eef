package load

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// catalog implements snapshot. It omits views, virtual tables and SQLite's internal tables.
func (s *sqliteSnapshot) catalog(ctx context.Context) (*catalog, error) {
	cat := &catalog{fold: true}
	const tables = `SELECT name, wr FROM pragma_table_list
		WHERE schema = 'main' AND type = 'table' AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name`
	var withoutRowid []bool
	err := s.each(ctx, tables, nil, func(scan func(...any) error) error {
		var t tableInfo
		var without bool
		err := scan(&t.name, &without)
		t.from = quote("main") + "." + quote(t.name)
		cat.tables, withoutRowid = append(cat.tables, &t), append(withoutRowid, without)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, t := range cat.tables {
		if err := s.describe(ctx, t, withoutRowid[i]); err != nil {
			return nil, err
		}
	}
	return cat, nil
}

func (s *sqliteSnapshot) describe(ctx context.Context, t *tableInfo, withoutRowid bool) error {
	if err := s.columns(ctx, t); err != nil {
		return err
	}
	if !withoutRowid {
		if err := s.rowid(ctx, t); err != nil {
			return err
		}
	}
	return s.foreignKeys(ctx, t)
}

// columns reads the columns, including generated ones, and the primary key.
func (s *sqliteSnapshot) columns(ctx context.Context, t *tableInfo) error {
	type part struct {
		at   int
		name string
	}
	var key []part
	const columns = `SELECT name, type, pk FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid`
	err := s.each(ctx, columns, []any{t.name}, func(scan func(...any) error) error {
		var c columnInfo
		var declared string
		var at int
		err := scan(&c.name, &declared, &at)
		c.opaque = meansTime(declared)
		t.columns = append(t.columns, c)
		if at > 0 {
			key = append(key, part{at, c.name})
		}
		return err
	})
	slices.SortFunc(key, func(a, b part) int { return a.at - b.at })
	for _, k := range key {
		t.key = append(t.key, k.name)
	}
	return err
}

// meansTime reports whether the driver would convert texts in a column to times.
func meansTime(declared string) bool {
	switch strings.ToUpper(declared) {
	case "DATE", "DATETIME", "TIMESTAMP":
		return true
	}
	return false
}

// rowid adds the row number as a hidden column, and as the key of a table that has no other.
// The row number orders the rows at no cost, and its range estimates how many there are.
func (s *sqliteSnapshot) rowid(ctx context.Context, t *tableInfo) error {
	taken := func(name string) bool {
		return slices.ContainsFunc(t.columns, func(c columnInfo) bool { return strings.EqualFold(c.name, name) })
	}
	names := []string{"rowid", "_rowid_", "oid"}
	i := slices.IndexFunc(names, func(n string) bool { return !taken(n) })
	if i < 0 {
		return nil // columns of the table hide all names of the row number
	}
	name := names[i]
	t.columns = append(t.columns, columnInfo{name: name, hidden: true})
	if len(t.key) == 0 {
		t.key = []string{name}
	}
	t.order = "t." + quote(name)
	estimate := `SELECT coalesce((SELECT max(` + quote(name) + `) FROM ` + t.from + `) - (SELECT min(` + quote(name) + `) FROM ` + t.from + `) + 1, 0)`
	return s.each(ctx, estimate, nil, func(scan func(...any) error) error { return scan(&t.rows) })
}

// foreignKeys reads foreign keys. SQLite lists the last one first.
func (s *sqliteSnapshot) foreignKeys(ctx context.Context, t *tableInfo) error {
	const keys = `SELECT id, "table", "from", coalesce("to", '') FROM pragma_foreign_key_list(?) ORDER BY id DESC, seq`
	last := -1
	return s.each(ctx, keys, []any{t.name}, func(scan func(...any) error) error {
		var id int
		var table, from, to string
		if err := scan(&id, &table, &from, &to); err != nil {
			return err
		}
		if id != last {
			t.foreign = append(t.foreign, foreignKey{table: table})
			last = id
		}
		f := &t.foreign[len(t.foreign)-1]
		f.columns = append(f.columns, from)
		if to != "" {
			f.to = append(f.to, to)
		}
		return nil
	})
}

// each runs a small query.
func (s *sqliteSnapshot) each(ctx context.Context, query string, args []any, row func(scan func(...any) error) error) (err error) {
	rows, err := s.conn.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
