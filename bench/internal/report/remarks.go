package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Remarks are what is to be said about the rows of a report.
type Remarks struct {
	// Notes are the conditions of the measurement, for people.
	Notes []string
	// Warnings are what makes the numbers doubtful.
	Warnings []string
}

// Note adds a note.
func (r *Remarks) Note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// Warn adds a warning that is not empty and not there yet.
func (r *Remarks) Warn(s string) {
	if s != "" && !slices.Contains(r.Warnings, s) {
		r.Warnings = append(r.Warnings, s)
	}
}

// WriteTable writes the warnings, a line for each of lines, and the notes. More columns are
// those of further tables of the same lines.
func WriteTable[L any](w io.Writer, r *Remarks, lines []L, columns []Column[L], more ...[]Column[L]) error {
	var b strings.Builder
	for _, s := range r.Warnings {
		fmt.Fprintf(&b, "WARNING: %s\n", s)
	}
	if len(r.Warnings) > 0 {
		b.WriteByte('\n')
	}
	writeColumns(&b, lines, columns)
	for _, columns := range more {
		b.WriteByte('\n')
		writeColumns(&b, lines, columns)
	}
	if len(r.Notes) > 0 {
		b.WriteByte('\n')
	}
	for _, s := range r.Notes {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
