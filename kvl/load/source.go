package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Source is where rows come from. It is for one goroutine at a time.
type Source interface {
	// String names it for people, without a password.
	String() string
	// Mapping completes a mapping, nil for the one that follows from the source alone. notes
	// say what of the source is not in it, though nobody asked to leave it out.
	Mapping(ctx context.Context, m *Mapping) (whole *Mapping, notes []string, err error)
	// Close gives up what the source holds.
	Close() error

	load(ctx context.Context, m *Mapping, l *loading) error
}

// ErrSource is wrapped by errors about the name of a source.
var ErrSource = errors.New("no source")

// Open opens a source:
//
//	postgres://user@host/database   PostgreSQL; also postgresql://
//	sqlite:path                     SQLite; also *.db, *.sqlite, *.sqlite3
//	jsonl:path                      JSON Lines; also *.jsonl, *.ndjson
//	csv:path                        an edge list; also *.csv, *.tsv, *.edges
//
// Whether a database can be reached is found out by the first load.
func Open(name string) (Source, error) {
	scheme, path, _ := strings.Cut(name, ":")
	switch scheme {
	case "postgres", "postgresql":
		return openPostgres(name)
	case "sqlite", "jsonl", "csv":
		path = strings.TrimPrefix(path, "//")
	default:
		path = name
		switch strings.ToLower(filepath.Ext(name)) {
		case ".db", ".sqlite", ".sqlite3":
			scheme = "sqlite"
		case ".jsonl", ".ndjson":
			scheme = "jsonl"
		case ".csv", ".tsv", ".edges":
			scheme = "csv"
		default:
			return nil, fmt.Errorf("%w: %q is of no kind that is known: use postgres://, sqlite:, jsonl: or csv: before it", ErrSource, name)
		}
	}
	if err := mustBeFile(path); err != nil {
		return nil, err
	}
	switch scheme {
	case "sqlite":
		return openSQLite(path)
	case "jsonl":
		return &lines{path: path}, nil
	}
	return &edgeFile{path: path}, nil
}

// mustBeFile refuses what cannot be opened, before SQLite says less about it.
func mustBeFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: there is no file %q", ErrSource, path)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrSource, err)
	case info.IsDir():
		return fmt.Errorf("%w: %q is a directory", ErrSource, path)
	}
	return nil
}

// withoutPassword is a URL for people.
func withoutPassword(name string) string {
	u, err := url.Parse(name)
	if err != nil {
		return "postgres"
	}
	return u.Redacted()
}
