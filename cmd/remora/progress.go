package main

import (
	"fmt"
	"io"
	"os"

	"github.com/remora-kv/remora/bench"
	"golang.org/x/term"
)

// progress is a line on a terminal that says what is being measured. Anywhere
// else it is silent.
type progress struct{ w io.Writer }

func newProgress(w io.Writer) *progress {
	if !isTerminal(w) {
		return &progress{}
	}
	return &progress{w: w}
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// eraseLine goes to the beginning of the line and clears it.
const eraseLine = "\r\x1b[K"

func (p *progress) show(now bench.Progress) {
	if p.w == nil {
		return
	}
	what := fmt.Sprintf("trial %d of %d", now.Trial, now.Trials)
	if now.Trial == 0 {
		what = "warming up"
	}
	_, _ = fmt.Fprintf(p.w, "%s[%d/%d] %s: %s", eraseLine, now.Case, now.Cases, now.Name, what)
}

func (p *progress) clear() {
	if p.w != nil {
		_, _ = io.WriteString(p.w, eraseLine)
	}
}
