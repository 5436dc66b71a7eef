package load

import (
	"context"
	"fmt"

	"github.com/remora-kv/remora/kvl"
)

// Report says what was loaded. What dangles is known when the image is sealed
// (kvl.Image.Stats).
type Report struct {
	Tables []TableReport `json:"tables"`
	Rows   int64         `json:"rows"`
	// Links are references that were not NULL, and Reverse those of lists back; edges of
	// edge tables and edge lists are counted in the same way.
	Links   int64 `json:"links"`
	Reverse int64 `json:"reverse_links"`
	// Notes say what of the source was not loaded though nobody asked to leave it out.
	Notes []string `json:"notes,omitempty"`
}

// TableReport says what came from a table, or of a type of items in a file.
type TableReport struct {
	Table string `json:"table"`
	Type  string `json:"type,omitempty"` // empty: its rows are edges
	Rows  int64  `json:"rows"`
	Links int64  `json:"links"`
}

// Progress says how far a load is.
type Progress struct {
	Table string // what is being read
	Rows  int64  // rows until now
	// Done of Total is done, in rows or bytes; a Total of 0 is not known. It is an estimate,
	// Done can be more.
	Done, Total int64
}

// Load reads a source into b, which is to be sealed then. m says what becomes of it; nil
// means what follows from the source (Source.Mapping). progress is called now and then from
// this goroutine; it may be nil. After an error, b is to be closed.
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
	table    *TableReport // of the report, where rows are counted now

	key, target []byte // reused
	targets     []int  // ends of keys in target
}

// enter says that rows of a table come next.
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

// tellEvery is how many rows are loaded between two looks at the context.
const tellEvery = 4096

// counted counts a row, and now and then sees whether to go on.
func (l *loading) counted(ctx context.Context) error {
	l.table.Rows++
	l.report.Rows++
	if l.report.Rows%tellEvery != 0 {
		return nil
	}
	l.tell()
	return ctx.Err()
}
