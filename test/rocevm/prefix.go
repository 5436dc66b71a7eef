package rocevm

import (
	"io"
	"strings"
	"sync"
)

// PrefixWriter writes whole lines to a writer, each behind a name, so that the
// output of several guests can be told apart. Each line is one Write, so writers
// to one destination mix lines and never parts of them.
type PrefixWriter struct {
	// Edit, if not nil, may change a line, which ends in a newline; an empty
	// result drops it.
	Edit func(line string) string

	mu     sync.Mutex
	w      io.Writer
	prefix string
	part   string
}

// NewPrefixWriter returns a writer for the lines of a guest.
func NewPrefixWriter(w io.Writer, name string) *PrefixWriter {
	return &PrefixWriter{w: w, prefix: name + "| "}
}

// Write passes on the lines that are complete.
func (p *PrefixWriter) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.part += string(text)
	for {
		line, rest, found := strings.Cut(p.part, "\n")
		if !found {
			return len(text), nil
		}
		p.part = rest
		if err := p.line(line + "\n"); err != nil {
			return 0, err
		}
	}
}

// Flush passes on the beginning of a line that has no end.
func (p *PrefixWriter) Flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.part != "" {
		_ = p.line(p.part + "\n") // an error can no longer be reported
		p.part = ""
	}
}

func (p *PrefixWriter) line(line string) error {
	if p.Edit != nil {
		if line = p.Edit(line); line == "" {
			return nil
		}
	}
	_, err := io.WriteString(p.w, p.prefix+line)
	return err
}
