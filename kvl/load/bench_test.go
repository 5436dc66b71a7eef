package load_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/load"
)

// benchRows is the number of items that are loaded; REMORA_LOAD_ROWS in the environment
// overrides it.
func benchRows(b *testing.B) int {
	b.Helper()
	if text := os.Getenv("REMORA_LOAD_ROWS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	return 100_000
}

// streets is the schema of a map: nodes, and segments that join two of them.
const streets = `
CREATE TABLE node (id INTEGER PRIMARY KEY, lat REAL, lon REAL, name TEXT);
CREATE TABLE segment (id INTEGER PRIMARY KEY, a INTEGER REFERENCES node, b INTEGER REFERENCES node, length REAL, street TEXT);`

// makeStreets makes a file with n rows, half of them nodes.
func makeStreets(b *testing.B, n int) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "streets.db")
	half := strconv.Itoa(n / 2)
	execSQLite(b, path, streets+`
INSERT INTO node WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < `+half+`)
	SELECT i, 48 + i * 1e-6, 11 + i * 1e-6, 'node number ' || i FROM n;
INSERT INTO segment SELECT id, id, 1 + (id * 7919) % `+half+`, id * 0.5, 'street ' || (id % 5000) FROM node;`)
	return path
}

// BenchmarkSQLite measures loading and sealing, beside a plain scan of the same
// rows by database/sql.
func BenchmarkSQLite(b *testing.B) {
	n := benchRows(b)
	path := makeStreets(b, n)
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			loadOnce(b, path, n)
		}
		perRow(b, n)
	})
	b.Run("scan", func(b *testing.B) {
		for b.Loop() {
			if rows := scanOnce(b, path); rows != n {
				b.Fatalf("%d rows", rows)
			}
		}
		perRow(b, n)
	})
}

func perRow(b *testing.B, rows int) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
}

func loadOnce(b *testing.B, path string, n int) {
	b.Helper()
	src, err := load.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	builder, err := kvl.NewBuilder(kvl.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer builder.Close()
	if _, err := load.Load(b.Context(), src, nil, builder, nil); err != nil {
		b.Fatal(err)
	}
	image, err := builder.Seal(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if s := image.Stats(); s.Items != int64(n) || s.Links != int64(2*n) {
		b.Fatalf("%+v", s)
	}
	if err := image.Close(); err != nil {
		b.Fatal(err)
	}
}

// scanOnce reads all rows of both tables into variables of their types.
func scanOnce(b *testing.B, path string) (rows int) {
	b.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	var id, from, to int64
	var x, y float64
	var text string
	for query, into := range map[string][]any{
		"SELECT id, lat, lon, name FROM node":          {&id, &x, &y, &text},
		"SELECT id, a, b, length, street FROM segment": {&id, &from, &to, &x, &text},
	} {
		rows += scanRows(b, db, query, into)
	}
	return rows
}

// scanRows reads the rows of a query.
func scanRows(b *testing.B, db *sql.DB, query string, into []any) (rows int) {
	b.Helper()
	all, err := db.QueryContext(b.Context(), query)
	if err != nil {
		b.Fatal(err)
	}
	defer all.Close()
	for all.Next() {
		if err := all.Scan(into...); err != nil {
			b.Fatal(err)
		}
		rows++
	}
	if err := all.Err(); err != nil {
		b.Fatal(err)
	}
	return rows
}
