package report

import (
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/out"
)

// Report is what is to be written.
type Report[R any] struct {
	// Title heads the page; default "remora bench".
	Title string
	// Command is the command line that has measured this, word by word.
	Command []string
	// Version is that of the program, and When the measurement ended.
	Version string
	When    time.Time
	// Machine says where, see the function of that name.
	Machine []bench.Fact
	// Pictures come before the charts of the rows.
	Pictures []Picture
	// Rows are all trials, structures that embed bench.Measure, and Remarks what is to be
	// said of them. Failure is why the measurement ended early, "" if it did not.
	Rows []R
	bench.Remarks
	Failure string
}

// ErrEmpty says that there is nothing to be written.
var ErrEmpty = errors.New("no rows for a report")

// Write writes the report into a directory that Prepare accepts.
func (r *Report[R]) Write(dir string) error {
	if len(r.Rows) == 0 {
		return ErrEmpty
	}
	if err := Prepare(dir); err != nil {
		return err
	}
	s := study(trialsOf(r.Rows))
	d := s.data()
	figures := s.figures(d)
	pictures := append(slices.Clone(r.Pictures), s.over()...)
	page, err := r.page(s, d, figures, pictures)
	if err != nil {
		return err
	}
	// The page comes first: by it the directory is known as ours, should a later file fail.
	if err := out.WriteFile(filepath.Join(dir, IndexName), func(w io.Writer) error { return page.write(w) }); err != nil {
		return err
	}
	if err := clean(dir); err != nil {
		return err
	}
	for _, p := range pictures {
		if err := p.write(dir); err != nil {
			return err
		}
	}
	for _, f := range figures {
		if err := (&Picture{ID: f.ID, Figure: f.image}).write(dir); err != nil {
			return err
		}
	}
	return errors.Join(
		out.WriteFile(filepath.Join(dir, "rows.csv"), func(w io.Writer) error { return rowsCSV(w, r.Rows) }),
		out.WriteFile(filepath.Join(dir, "rows.json"), func(w io.Writer) error { return writeRows(w, r.Rows) }),
	)
}

// Picture is a figure that is not made from rows here.
type Picture struct {
	// ID is in the names of its files, Title and About are above it.
	ID, Title, About string
	Figure           *out.Figure
}

// Name is that of a file with it.
func (p *Picture) Name(ending string) string { return "fig-" + p.ID + "." + ending }

func (p *Picture) write(dir string) error {
	return errors.Join(
		out.WriteFile(filepath.Join(dir, p.Name("svg")), p.Figure.WriteSVG),
		out.WriteFile(filepath.Join(dir, p.Name("png")), p.Figure.WritePNG),
	)
}

// CommandLine writes words so that a shell reads them as they are.
func CommandLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if w == "" || strings.ContainsFunc(w, func(r rune) bool { return !strings.ContainsRune(plainRunes, r) }) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		quoted[i] = w
	}
	return strings.Join(quoted, " ")
}

// plainRunes need no quotes.
const plainRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,=%@+"
