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

// Source is a database or a file to load. One goroutine at a time uses it.
type Source interface {
	// String returns the name of the source, without a password.
	String() string
	// Mapping completes a mapping; nil stands for the default one. The notes describe what the
	// result leaves out although m did not.
	Mapping(ctx context.Context, m *Mapping) (whole *Mapping, notes []string, err error)
	// Close closes the source.
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
// Open does not connect to a database: the first load does.
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
			return nil, fmt.Errorf("%w: unknown kind of source %q: put postgres://, sqlite:, jsonl: or csv: in front", ErrSource, name)
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

// mustBeFile returns an error if path is not a file. SQLite's own errors say less.
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

// withoutPassword returns a URL without its password, for messages.
func withoutPassword(name string) string {
	u, err := url.Parse(name)
	if err != nil {
		return "postgres"
	}
	return u.Redacted()
}
