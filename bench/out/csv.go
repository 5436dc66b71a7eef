package out

import (
	"encoding/csv"
	"io"
)

// CSV writes rows as CSV, a line with the names of the columns first.
type CSV[R any] struct {
	csv   *csv.Writer
	begun bool
}

// NewCSV makes one that writes to w.
func NewCSV[R any](w io.Writer) *CSV[R] { return &CSV[R]{csv: csv.NewWriter(w)} }

// Write writes a row, at once: who stops early has what was measured until then.
func (w *CSV[R]) Write(row R) error {
	if !w.begun {
		w.begun = true
		if err := w.csv.Write(Columns[R]()); err != nil {
			return err
		}
	}
	values, err := Cells(row)
	if err != nil {
		return err
	}
	if err := w.csv.Write(values); err != nil {
		return err
	}
	w.csv.Flush()
	return w.csv.Error()
}
