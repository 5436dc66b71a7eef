package fabrictest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"go.uber.org/goleak"
)

// stock is what this process holds at one moment. Where there is no /proc it
// knows goroutines only.
type stock struct {
	goroutines goleak.Option
	files      map[string]string // descriptor -> what it is
	mappings   int
}

// inventory takes stock.
func inventory() stock {
	// The first pipe or timer makes the runtime open descriptors, which it keeps.
	if r, w, err := os.Pipe(); err == nil {
		_, _ = r.Close(), w.Close()
	}
	return stock{goroutines: goleak.IgnoreCurrent(), files: openFiles(), mappings: memfdMappings()}
}

// leaked says what is there now that was not there before, or nothing. It
// waits for what is ending, up to a limit.
func (s stock) leaked(limit time.Duration) string {
	for deadline := time.Now().Add(limit); ; {
		what := s.excess()
		if what == "" || time.Now().After(deadline) {
			return what
		}
		runtime.GC() // what is closed by a finalizer is a leak only if it stays
	}
}

// excess says what is there now that was not there before. It has patience with
// goroutines only.
func (s stock) excess() string {
	var parts []string
	if err := goleak.Find(s.goroutines); err != nil {
		parts = append(parts, err.Error())
	}
	files, mappings := s.newFiles(), memfdMappings()
	if len(files) != 0 {
		parts = append(parts, fmt.Sprintf("%d file descriptors are still open:\n\t%s", len(files), strings.Join(files, "\n\t")))
	}
	if mappings > s.mappings {
		parts = append(parts, fmt.Sprintf("%d mappings of memory files are left, %d before", mappings, s.mappings))
	}
	return strings.Join(parts, "\n")
}

// newFiles lists descriptors that are open now and were not, or were something
// else.
func (s stock) newFiles() []string {
	var list []string
	for fd, what := range openFiles() {
		if s.files[fd] != what {
			list = append(list, fd+" -> "+what)
		}
	}
	return list
}

func openFiles() map[string]string {
	const dir = "/proc/self/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	files := make(map[string]string, len(entries))
	for _, e := range entries {
		// The descriptor that lists the directory is gone by now.
		if what, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil {
			files[e.Name()] = what
		}
	}
	return files
}

// memfdMappings counts mappings of memory files. Others are left out, because
// the runtime makes and drops mappings as it likes.
func memfdMappings() int {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0
	}
	n := 0
	for line := range bytes.Lines(maps) {
		if bytes.Contains(line, []byte("memfd:")) {
			n++
		}
	}
	return n
}
