package host

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Obituary adds to err, which came of the end of the process, how that was and
// what it said last.
func (p *Process) Obituary(err error) error {
	select {
	case <-p.done:
		how := p.how
		if how == nil {
			how = errors.New("without an error")
		}
		err = fmt.Errorf("%w (%w)", ErrGone, how)
	case <-time.After(endTimeout):
	}
	return fmt.Errorf("%w%s", err, p.Said())
}

// blameTimeout is how long a dead process may take to be seen as such.
const blameTimeout = 2 * time.Second

// Blame adds what a dead process said to the error that its death caused here, unless that
// says so already.
func (p *Process) Blame(err error) error {
	if errors.Is(err, ErrGone) {
		return err
	}
	select {
	case <-p.done:
		return fmt.Errorf("%w; here that was: %w", p.Obituary(ErrGone), err)
	case <-time.After(blameTimeout):
		return err
	}
}

// Said is the end of what the process wrote, to be put behind an error; empty when
// it was silent.
func (p *Process) Said() string {
	if s := p.last.String(); s != "" {
		return "; it wrote:\n" + s
	}
	return ""
}

// tail keeps the end of what is written to it.
type lastWords struct {
	mu  sync.Mutex
	buf []byte
}

// tailSize is how much is kept.
const tailSize = 4096

// Write implements io.Writer.
func (t *lastWords) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if n := len(t.buf) - tailSize; n > 0 {
		t.buf = append(t.buf[:0], t.buf[n:]...)
	}
	return len(b), nil
}

// String returns the end of the text.
func (t *lastWords) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf))
}
