package load

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"strconv"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// sqlite is a SQLite file.
type sqlite struct {
	path string
	db   *sql.DB
}

// busyTimeout is how long, in milliseconds, a reader waits for a writer that has locked the
// file.
const busyTimeout = "5000"

func openSQLite(path string) (Source, error) {
	// A name with a scheme is a URI, in which %, ? and # of the path are escaped.
	name := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: url.Values{
		"mode": {"ro"}, "_pragma": {"busy_timeout(" + busyTimeout + ")"},
	}.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrSource, path, err)
	}
	db.SetMaxIdleConns(0)
	return &database{&sqlite{path: path, db: db}}, nil
}

func (s *sqlite) String() string { return s.path }

func (s *sqlite) close() error { return s.db.Close() }

// begin implements engine. BEGIN alone does not fix the state to be read; the first read of a
// table does, here of sqlite_schema.
func (s *sqlite) begin(ctx context.Context) (snapshot, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	var tables int
	if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &sqliteSnapshot{conn: conn}, nil
}

// sqliteSnapshot is a read transaction.
type sqliteSnapshot struct{ conn *sql.Conn }

// close implements snapshot. The connection is not kept (SetMaxIdleConns), and the
// transaction ends with it.
func (s *sqliteSnapshot) close() error { return s.conn.Close() }

// scan implements snapshot.
func (s *sqliteSnapshot) scan(ctx context.Context, q *query, row func(values [][]byte) error) error {
	return s.conn.Raw(func(c any) error {
		queryer, ok := c.(driver.QueryerContext)
		if !ok {
			return errors.New("the driver of SQLite does not run queries")
		}
		rows, err := queryer.QueryContext(ctx, q.text, nil)
		if err != nil {
			return err
		}
		return errors.Join(eachRow(rows, len(q.columns), row), rows.Close())
	})
}

// eachRow calls row with the values of each row as bytes.
func eachRow(rows driver.Rows, columns int, row func(values [][]byte) error) error {
	in, out := make([]driver.Value, columns), make([][]byte, columns)
	var buf []byte
	for {
		switch err := rows.Next(in); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		buf = buf[:0]
		for i, v := range in {
			if buf, out[i] = appendValue(buf, v); out[i] == nil && v != nil {
				return fmt.Errorf("column %d is a %T, which SQLite does not have", i+1, v)
			}
		}
		if err := row(out); err != nil {
			return err
		}
	}
}

// appendValue returns a value as bytes (L3), nil for NULL, and the grown buffer, at whose end
// the bytes may be. If buf has to grow, earlier values stay where they are.
func appendValue(buf []byte, v driver.Value) (grown, value []byte) {
	start := len(buf)
	switch v := v.(type) {
	case int64:
		buf = strconv.AppendInt(buf, v, 10)
	case string:
		buf = append(buf, v...)
	case []byte:
		if v == nil { // an empty blob
			v = []byte{}
		}
		return buf, v
	case float64:
		buf = appendReal(buf, v)
	default:
		return buf, nil
	}
	if buf == nil {
		buf = []byte{} // an empty text, unlike NULL, is not nil
	}
	return buf, buf[start:len(buf):len(buf)]
}

// appendReal formats a number as PostgreSQL does: whole numbers look like integers.
func appendReal(b []byte, v float64) []byte {
	form := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e15) && !math.IsInf(v, 0) {
		form = 'e'
	}
	return strconv.AppendFloat(b, v, form, -1, 64)
}
