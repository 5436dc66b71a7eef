package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgres is a database of PostgreSQL.
type postgres struct {
	name   string // without a password
	config *pgx.ConnConfig
}

func openPostgres(name string) (Source, error) {
	cfg, err := postgresConfig(name)
	if err != nil {
		return nil, err
	}
	return &database{&postgres{withoutPassword(name), cfg}}, nil
}

// postgresConfig parses a URL. Its settings make values arrive as text in one format, whatever
// the settings of the database or of the user are.
func postgresConfig(name string) (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	for setting, value := range map[string]string{
		"client_encoding": "UTF8", "datestyle": "ISO, YMD", "intervalstyle": "iso_8601", "timezone": "UTC", "extra_float_digits": "1",
		"application_name": "remora",
		// Rows come in the order on disk (L5).
		"synchronize_seqscans": "off", "max_parallel_workers_per_gather": "0",
	} {
		cfg.RuntimeParams[setting] = value
	}
	return cfg, nil
}

func (p *postgres) String() string { return p.name }

func (*postgres) close() error { return nil }

// begin implements engine.
func (p *postgres) begin(ctx context.Context) (snapshot, error) {
	conn, err := pgx.ConnectConfig(ctx, p.config)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return &postgresSnapshot{conn}, nil
}

// postgresSnapshot is a transaction.
type postgresSnapshot struct{ conn *pgx.Conn }

// closeTimeout bounds the time to close a connection.
const closeTimeout = 5 * time.Second

// close implements snapshot. The transaction ends with the connection. It does not use the context
// of the load, which may have ended.
func (s *postgresSnapshot) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return s.conn.Close(ctx)
}

// scan implements snapshot. Values are in the text format, except bytea, whose text is twice as
// long.
func (s *postgresSnapshot) scan(ctx context.Context, q *query, row func(values [][]byte) error) error {
	formats := make([]int16, len(q.columns))
	for i, c := range q.columns {
		if c.binary {
			formats[i] = pgx.BinaryFormatCode
		}
	}
	result := s.conn.PgConn().ExecParams(ctx, q.text, nil, nil, nil, formats)
	var failed error
	for failed == nil && result.NextRow() {
		failed = row(result.Values())
	}
	if failed != nil {
		// Do not wait for the remaining rows.
		return errors.Join(failed, s.close())
	}
	_, err := result.Close()
	return err
}
