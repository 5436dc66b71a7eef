package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/bench/perf"
)

// progress is a line on a terminal that says what is being measured. Anywhere
// else it is silent.
type progress struct{ w io.Writer }

func newProgress(w io.Writer) *progress {
	if f, ok := w.(*os.File); !ok || !isTerminal(f) {
		return &progress{}
	}
	return &progress{w: w}
}

// isTerminal asks the kernel.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), ioctlReadTermios)
	return err == nil
}

// eraseLine goes to the beginning of the line and clears it.
const eraseLine = "\r\x1b[K"

func (p *progress) show(now perf.Progress) {
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

// onTerminal reports whether the output goes to a terminal.
func (a *app) onTerminal() bool {
	f, ok := a.out.(*os.File)
	return ok && isTerminal(f)
}
