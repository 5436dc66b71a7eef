package report

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/cache"
	"github.com/remora-kv/remora/bench/out"
)

// Report is what is to be written.
type Report struct {
	// Title heads the page; default "remora bench".
	Title string
	// Command is the command line that has measured this, word by word.
	Command []string
	// Version is that of the program, and When the measurement ended.
	Version string
	When    time.Time
	// Machine says where, see the function of that name.
	Machine []bench.Fact
	// Rows are all trials, and Remarks what is to be said of them. Failure is why the
	// measurement ended early, "" if it did not.
	Rows []cache.Row
	bench.Remarks
	Failure string
}

// ErrEmpty says that there is nothing to be written.
var ErrEmpty = errors.New("no rows for a report")

// Write writes the report into a directory that Prepare accepts.
func (r *Report) Write(dir string) error {
	if len(r.Rows) == 0 {
		return ErrEmpty
	}
	if err := Prepare(dir); err != nil {
		return err
	}
	s := study(r.Rows)
	d := s.data()
	figures := s.figures(d)
	page, err := r.page(s, d, figures)
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
	for _, f := range figures {
		if err := errors.Join(
			out.WriteFile(filepath.Join(dir, f.name("svg")), f.image.WriteSVG),
			out.WriteFile(filepath.Join(dir, f.name("png")), f.image.WritePNG),
		); err != nil {
			return err
		}
	}
	return errors.Join(
		out.WriteFile(filepath.Join(dir, "rows.csv"), func(w io.Writer) error { return rowsCSV(w, r.Rows) }),
		out.WriteFile(filepath.Join(dir, "rows.json"), func(w io.Writer) error { return writeRows(w, r.Rows) }),
	)
}

func (f *figure) name(ending string) string { return "fig-" + f.ID + "." + ending }

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
