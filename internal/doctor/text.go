package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// WriteText writes the report as a table for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	width := 0
	for _, f := range r.Findings {
		width = max(width, len(f.Probe))
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%-5s %-*s  %s\n", f.Mark, width, f.Probe, f.Found)
		for _, line := range f.More {
			fmt.Fprintf(&b, "%*s%s\n", 6+width+2, "", line)
		}
		for _, line := range wrap(f.Next, 78) {
			fmt.Fprintf(&b, "%*s%s\n", 6+width+2, "", line)
		}
	}
	b.WriteString("\nFabrics of this machine\n\n")
	for _, v := range r.Verdicts {
		fmt.Fprintf(&b, "%-5s %-6s %-24s %s\n", v.Mark, v.Fabric, v.For, v.Address)
		for _, reason := range v.Reasons {
			fmt.Fprintf(&b, "%13s- %s\n", "", reason)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// wrap breaks advice into lines of at most n characters, the first marked.
func wrap(s string, n int) []string {
	var lines []string
	for word := range strings.FieldsSeq(s) {
		last := len(lines) - 1
		switch {
		case last < 0:
			lines = append(lines, "-> "+word)
		case len(lines[last])+1+len(word) > n:
			lines = append(lines, "   "+word)
		default:
			lines[last] += " " + word
		}
	}
	return lines
}

// WriteJSON writes one object per line: the findings, then the verdicts.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for i := range r.Findings {
		if err := enc.Encode(&r.Findings[i]); err != nil {
			return err
		}
	}
	for i := range r.Verdicts {
		if err := enc.Encode(&r.Verdicts[i]); err != nil {
			return err
		}
	}
	return nil
}
