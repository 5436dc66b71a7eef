package load

import (
	"context"
	"fmt"

	"github.com/remora-kv/remora/kvl"
)

// Report describes a load. Dangling links are known when the image is sealed (kvl.Image.Stats).
type Report struct {
	Tables []TableReport `json:"tables"`
	Rows   int64         `json:"rows"`
	// Links counts references that were not NULL, and Reverse the links back; edges of
	// edge tables and edge lists count in the same way.
	Links   int64 `json:"links"`
	Reverse int64 `json:"reverse_links"`
	// Notes describe what was not loaded although the mapping did not leave it out.
	Notes []string `json:"notes,omitempty"`
}

// TableReport describes what was loaded from a table, or of a type of items in a file.
type TableReport struct {
	Table string `json:"table"`
	Type  string `json:"type,omitempty"` // empty: an edge table
	Rows  int64  `json:"rows"`
	Links int64  `json:"links"`
}

// Progress is the progress of a load.
type Progress struct {
	Table string // the table or file that is being read
	Rows  int64  // rows read so far
	// Done and Total are in rows or bytes. Total is an estimate, which Done can exceed; 0 means
	// unknown.
	Done, Total int64
}

// Load reads a source into b. The caller seals b afterwards, or closes it after an error. m is the
// mapping; nil means the default mapping of the source (Source.Mapping). progress, if not nil, is
// called from time to time in the same goroutine.
func Load(ctx context.Context, src Source, m *Mapping, b *kvl.Builder, progress func(Progress)) (Report, error) {
	l := &loading{b: b, progress: progress}
	if err := src.load(ctx, m, l); err != nil {
		if stopped := ctx.Err(); stopped != nil {
			return l.report, fmt.Errorf("loading %s: %w", src, stopped)
		}
		return l.report, fmt.Errorf("loading %s: %w", src, err)
	}
	l.tell()
	return l.report, nil
}

// loading is one Load.
type loading struct {
	b        *kvl.Builder
	report   Report
	progress func(Progress)
	now      Progress
	table    *TableReport // entry of the report for the current table

	key, target []byte // reused
	targets     []int  // ends of the keys in target
}

// enter begins a table in the report.
func (l *loading) enter(table, typ string) {
	l.report.Tables = append(l.report.Tables, TableReport{Table: table, Type: typ})
	l.table = &l.report.Tables[len(l.report.Tables)-1]
	l.now.Table = table
	l.tell()
}

func (l *loading) tell() {
	if l.progress != nil {
		l.now.Rows = l.report.Rows
		l.progress(l.now)
	}
}

// tellEvery is the number of rows between two checks of the context.
const tellEvery = 4096

// counted counts a row. After every tellEvery rows it reports progress and checks the context.
func (l *loading) counted(ctx context.Context) error {
	l.table.Rows++
	l.report.Rows++
	if l.report.Rows%tellEvery != 0 {
		return nil
	}
	l.tell()
	return ctx.Err()
}
