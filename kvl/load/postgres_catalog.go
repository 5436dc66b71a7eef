package load

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// postgresTables lists the tables of users, with estimates of their number of rows. Partitions
// are read as part of their table.
const postgresTables = `
SELECT c.oid, n.nspname, c.relname, n.nspname = current_schema(), c.relkind = 'p', greatest(c.reltuples, 0)::bigint
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_toast%' AND n.nspname NOT LIKE 'pg\_temp%'
ORDER BY n.nspname, c.relname`

const postgresColumns = `
SELECT a.attname, a.atttypid = 'bytea'::regtype
FROM pg_catalog.pg_attribute a
WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`

const postgresKey = `
SELECT a.attname
FROM pg_catalog.pg_constraint k, unnest(k.conkey) WITH ORDINALITY AS p(num, at)
JOIN pg_catalog.pg_attribute a ON a.attnum = p.num
WHERE k.conrelid = $1 AND k.contype = 'p' AND a.attrelid = $1 ORDER BY p.at`

// postgresForeign omits the foreign keys that PostgreSQL adds for each partition.
const postgresForeign = `
SELECT k.oid, k.confrelid, a.attname, b.attname
FROM pg_catalog.pg_constraint k, unnest(k.conkey, k.confkey) WITH ORDINALITY AS p(num, tonum, at)
JOIN pg_catalog.pg_attribute a ON a.attnum = p.num
JOIN pg_catalog.pg_attribute b ON b.attnum = p.tonum
WHERE k.conrelid = $1 AND k.contype = 'f' AND k.conparentid = 0 AND a.attrelid = $1 AND b.attrelid = k.confrelid
ORDER BY k.conkey, k.oid, p.at`

// postgresTable is a table with its object identifier.
type postgresTable struct {
	oid  uint32
	info *tableInfo
}

// catalog implements snapshot.
func (s *postgresSnapshot) catalog(ctx context.Context) (*catalog, error) {
	tables, err := s.tables(ctx)
	if err != nil {
		return nil, err
	}
	cat, names := &catalog{}, map[uint32]string{}
	for _, t := range tables {
		cat.tables = append(cat.tables, t.info)
		names[t.oid] = t.info.name
	}
	for _, t := range tables {
		err := errors.Join(s.columns(ctx, t), s.key(ctx, t), s.foreign(ctx, t, names))
		if err != nil {
			return nil, err
		}
	}
	return cat, nil
}

func (s *postgresSnapshot) tables(ctx context.Context) ([]postgresTable, error) {
	var out []postgresTable
	used := map[string]bool{}
	var oid uint32
	var schema, name string
	var first, parts bool
	var rows int64
	err := s.each(ctx, postgresTables, nil, []any{&oid, &schema, &name, &first, &parts, &rows}, func() {
		info := &tableInfo{name: name, from: quote(schema) + "." + quote(name), rows: rows}
		if !parts {
			info.from = "ONLY " + info.from // tables that inherit have rows of their own
		}
		if !first || used[name] {
			info.name = schema + "." + name
		}
		used[info.name] = true
		out = append(out, postgresTable{oid, info})
	})
	return out, err
}

func (s *postgresSnapshot) columns(ctx context.Context, t postgresTable) error {
	var c columnInfo
	return s.each(ctx, postgresColumns, []any{t.oid}, []any{&c.name, &c.binary}, func() { t.info.columns = append(t.info.columns, c) })
}

func (s *postgresSnapshot) key(ctx context.Context, t postgresTable) error {
	var name string
	return s.each(ctx, postgresKey, []any{t.oid}, []any{&name}, func() { t.info.key = append(t.info.key, name) })
}

func (s *postgresSnapshot) foreign(ctx context.Context, t postgresTable, names map[uint32]string) error {
	var last, id, target uint32
	var from, to string
	return s.each(ctx, postgresForeign, []any{t.oid}, []any{&id, &target, &from, &to}, func() {
		if id != last {
			t.info.foreign = append(t.info.foreign, foreignKey{table: names[target]})
			last = id
		}
		f := &t.info.foreign[len(t.info.foreign)-1]
		f.columns, f.to = append(f.columns, from), append(f.to, to)
	})
}

// each runs a small query.
func (s *postgresSnapshot) each(ctx context.Context, query string, args, into []any, row func()) error {
	rows, err := s.conn.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, into, func() error { row(); return nil })
	return err
}
