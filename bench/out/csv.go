package out

import (
	"encoding/csv"
	"io"
)

// CSV writes rows as CSV, a line with the names of the columns first. It can have
// columns of its own before those of the rows.
type CSV[R any] struct {
	csv   *csv.Writer
	first []string // columns before those of the row
	begun bool
}

// NewCSV makes one that writes to w. first are columns whose cells are given to Write.
func NewCSV[R any](w io.Writer, first ...string) *CSV[R] {
	return &CSV[R]{csv: csv.NewWriter(w), first: first}
}

// Write writes a row, at once: who stops early has what was measured until then.
func (w *CSV[R]) Write(row R, first ...string) error {
	if err := w.head(); err != nil {
		return err
	}
	values, err := Cells(row)
	if err != nil {
		return err
	}
	if err := w.csv.Write(append(first[:len(w.first):len(w.first)], values...)); err != nil {
		return err
	}
	w.csv.Flush()
	return w.csv.Error()
}

// head writes the names of the columns, once.
func (w *CSV[R]) head() error {
	if w.begun {
		return nil
	}
	w.begun = true
	return w.csv.Write(append(w.first[:len(w.first):len(w.first)], Columns[R]()...))
}
