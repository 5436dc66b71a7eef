package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/remora-kv/remora/bench/host"
)

// Remarks are what is to be said about the rows of a report.
type Remarks struct {
	// Notes are the conditions of the measurement, for people.
	Notes []string
	// Warnings are what makes the numbers doubtful.
	Warnings []string
	// Reasons are why the report as a whole is not to be trusted, beside other processes.
	Reasons []string

	// Of the trials of all rows.
	spent  Spent
	rates  []*rates
	speeds host.SpeedRange // of the CPU
}

// Note adds a note.
func (r *Remarks) Note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// Warn adds a warning that is not empty and not there yet.
func (r *Remarks) Warn(s string) { addOnce(&r.Warnings, s) }

// Distrust adds a reason that is not empty and not there yet.
func (r *Remarks) Distrust(reason string) { addOnce(&r.Reasons, reason) }

// NoteMachine notes on what machine, and by which program, it was measured.
func (r *Remarks) NoteMachine() { r.Note("machine: %s", machineText()) }

// Take takes what another report, of a part of the rows, says of itself, but for its notes. Of
// names what was measured: the trials of a case are those of one title with one name, in all
// parts, and Judge judges them together.
func (r *Remarks) Take(part *Remarks, of string) {
	for _, s := range part.Warnings {
		r.Warn(s)
	}
	for _, s := range part.Reasons {
		r.Distrust(s)
	}
	r.spent.add(part.spent)
	r.speeds.Join(part.speeds)
	for _, c := range part.rates {
		title := strings.TrimPrefix(of+": "+c.title, ": ")
		r.rate(title, title, c.shared, c.rates...)
	}
}

// Verdict is the sentence at the top of a report that is not to be trusted; empty: it is.
func (r *Remarks) Verdict() string {
	reasons := r.Reasons
	if s := r.spent.reason(); s != "" {
		reasons = append([]string{s}, reasons...)
	}
	if len(reasons) == 0 {
		return ""
	}
	return "DO NOT TRUST THESE NUMBERS: " + strings.Join(reasons, "; ")
}

// Top is what a report says before its numbers: the verdict, and the warnings.
func (r *Remarks) Top() (lines []string) {
	if v := r.Verdict(); v != "" {
		lines = append(lines, v)
	}
	for _, s := range r.Warnings {
		lines = append(lines, "WARNING: "+s)
	}
	return lines
}

// KindRemarks is the kind of remarks in JSON, which tells them from a row.
const KindRemarks = "remarks"

// WriteJSON writes the remarks as one line.
func (r *Remarks) WriteJSON(w io.Writer) error {
	return json.NewEncoder(w).Encode(struct {
		Kind     string   `json:"kind"`
		Verdict  string   `json:"verdict"` // "": nothing speaks against trusting the rows
		Warnings []string `json:"warnings"`
		Notes    []string `json:"notes"`
	}{KindRemarks, r.Verdict(), r.Warnings, r.Notes})
}

func addOnce(list *[]string, s string) {
	if s != "" && !slices.Contains(*list, s) {
		*list = append(*list, s)
	}
}
