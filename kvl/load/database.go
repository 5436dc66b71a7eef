package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// engine is a kind of database, as SQLite.
type engine interface {
	// String names the database in messages.
	String() string
	// begin begins a read-only transaction (L7) on one state of the database (L1).
	begin(ctx context.Context) (snapshot, error)
	close() error
}

// snapshot is one state of a database.
type snapshot interface {
	catalog(ctx context.Context) (*catalog, error)
	// scan runs a query and calls row for each row, with a value for each column, nil for NULL.
	// The values are valid until row returns.
	scan(ctx context.Context, q *query, row func(values [][]byte) error) error
	close() error
}

// database is a source with tables.
type database struct{ engine engine }

// String implements Source.
func (d *database) String() string { return d.engine.String() }

// Close implements Source.
func (d *database) Close() error { return d.engine.close() }

// Mapping implements Source.
func (d *database) Mapping(ctx context.Context, m *Mapping) (whole *Mapping, notes []string, err error) {
	s, err := d.engine.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	c, err := completeFrom(ctx, s, m)
	if err = errors.Join(err, s.close()); err != nil {
		return nil, nil, err
	}
	for _, name := range c.keyless {
		c.notes = append(c.notes, fmt.Sprintf("table %s has no primary key: this mapping leaves it out, and a load without a mapping fails", name))
	}
	return c.out, c.notes, nil
}

func completeFrom(ctx context.Context, s snapshot, m *Mapping) (*completion, error) {
	cat, err := s.catalog(ctx)
	if err != nil {
		return nil, err
	}
	return complete(cat, m)
}

func (d *database) load(ctx context.Context, m *Mapping, l *loading) (err error) {
	s, err := d.engine.begin(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	c, err := completeFrom(ctx, s, m)
	if err != nil {
		return err
	}
	if len(c.keyless) != 0 {
		return fmt.Errorf("tables without a primary key: %s; leave them out, or name the columns of their keys, in a mapping (print one with --show-mapping)",
			strings.Join(c.keyless, ", "))
	}
	if len(c.out.Tables) == 0 {
		return fmt.Errorf("%s has no tables", d)
	}
	l.report.Notes = c.notes
	plans, err := l.planAll(c)
	if err != nil {
		return err
	}
	for _, p := range plans {
		l.enter(p.table.Table, p.table.Type)
		if err := s.scan(ctx, &p.query, func(row [][]byte) error { return p.row(ctx, l, row) }); err != nil {
			return fmt.Errorf("table %s: %w", p.table.Table, err)
		}
	}
	return nil
}

// planAll plans all tables, and estimates the number of rows.
func (l *loading) planAll(c *completion) ([]*tablePlan, error) {
	var plans []*tablePlan
	known := true
	for i := range c.out.Tables {
		p, err := l.plan(c, &c.out.Tables[i])
		if err != nil {
			return nil, err
		}
		plans = append(plans, p)
		rows := c.cat.table(p.table.Table).rows
		known = known && rows > 0
		l.now.Total += rows
	}
	if !known {
		l.now.Total = 0
	}
	return plans, nil
}
