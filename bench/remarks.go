package bench

import (
	"fmt"
	"slices"
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
