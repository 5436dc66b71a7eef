package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/remora-kv/remora/kvl/load"
)

// loadBar shows the progress of a load on a terminal, and nothing anywhere else.
type loadBar struct {
	*progress
	last time.Time
}

func newLoadBar(w io.Writer) *loadBar { return &loadBar{progress: newProgress(w)} }

// barEvery is how often the line is written at most, barWidth how wide its bar is.
const (
	barEvery = 100 * time.Millisecond
	barWidth = 30
)

func (b *loadBar) show(p load.Progress) {
	if b.w == nil || time.Since(b.last) < barEvery {
		return
	}
	b.last = time.Now()
	_, _ = io.WriteString(b.w, eraseLine+barText(p))
}

// barText is the line.
func barText(p load.Progress) string {
	if p.Total <= 0 {
		return fmt.Sprintf("%s: %d rows", p.Table, p.Rows)
	}
	part := min(float64(p.Done)/float64(p.Total), 1) // the total is an estimate
	full := int(part * barWidth)
	return fmt.Sprintf("[%s%s] %3.0f %% %s: %d rows", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), part*100, p.Table, p.Rows)
}

func (b *loadBar) sealing() {
	if b.w != nil {
		_, _ = io.WriteString(b.w, eraseLine+"building the image")
	}
}
