package out

import (
	"fmt"
	"io"
	"strings"

	"github.com/remora-kv/remora/bench"
)

// WriteTop writes what a report says before its numbers, and an empty line; nothing where there
// is nothing to be said.
func WriteTop(b *strings.Builder, r *bench.Remarks) {
	top := r.Top()
	for _, s := range top {
		fmt.Fprintf(b, "%s\n", s)
	}
	if len(top) > 0 {
		b.WriteByte('\n')
	}
}

// WriteTable writes the verdict, the warnings, a line for each of lines, and the notes. More columns are
// those of further tables of the same lines.
func WriteTable[L any](w io.Writer, r *bench.Remarks, lines []L, columns []Column[L], more ...[]Column[L]) error {
	var b strings.Builder
	WriteTop(&b, r)
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
