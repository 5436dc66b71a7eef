package rocevm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"syscall"

	"github.com/remora-kv/remora/test/rocevm/agent"
)

// keptLines bounds the output of a program that is kept for Await and Result.
const keptLines = 1 << 16

// Process is a program in a guest.
type Process struct {
	guest  *Guest
	id     int
	output io.Writer

	mu      sync.Mutex
	lines   []string      // complete lines, the oldest dropped beyond keptLines
	dropped int           // lines dropped
	partial string        // the beginning of the next line
	changed chan struct{} // closed and replaced when lines come or the end
	ended   bool
	result  Result
	err     error
}

func newProcess(g *Guest, output io.Writer) *Process {
	return &Process{guest: g, output: output, changed: make(chan struct{})}
}

// event takes over output or the end. It is called by the guest's dispatcher, in
// order.
func (p *Process) event(e agent.Event) {
	if e.Kind == agent.KindOutput {
		if p.output != nil {
			// A writer that fails loses output of its own; the run goes on.
			_, _ = p.output.Write(e.Data)
		}
		p.keep(string(e.Data))
		return
	}
	p.mu.Lock()
	p.result = Result{Status: e.Status, Signal: syscall.Signal(e.Signal), reason: e.Error}
	p.mu.Unlock()
	p.end(nil)
}

func (p *Process) keep(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := strings.Split(p.partial+text, "\n")
	p.partial = lines[len(lines)-1]
	p.lines = append(p.lines, lines[:len(lines)-1]...)
	if n := len(p.lines) - keptLines; n > keptLines {
		p.lines = append([]string(nil), p.lines[n:]...)
		p.dropped += n
	}
	p.notify()
}

// end marks the process as over; err is set when its real end is unknown.
func (p *Process) end(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	if p.partial != "" {
		p.lines = append(p.lines, p.partial)
		p.partial = ""
	}
	p.ended, p.err = true, err
	p.result.Output = strings.Join(p.lines, "\n")
	p.notify()
}

func (p *Process) notify() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// Wait waits until the program is over. When ctx ends first, the program runs on.
func (p *Process) Wait(ctx context.Context) (Result, error) {
	for {
		p.mu.Lock()
		ended, result, err, changed := p.ended, p.result, p.err, p.changed
		p.mu.Unlock()
		if ended {
			return result, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Result{}, fmt.Errorf("rocevm: waiting for a program in guest %s: %w", p.guest.Name, context.Cause(ctx))
		}
	}
}

// WaitOrQuit waits as Wait does. When the time of ctx is over first, the program
// gets SIGQUIT and a little later SIGKILL, and the error says so. When ctx is
// cancelled, it is killed without further waiting.
func (p *Process) WaitOrQuit(ctx context.Context) (Result, error) {
	r, err := p.Wait(ctx)
	if err == nil || errors.Is(err, ErrGuestDied) {
		return r, err
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		_ = p.Signal(syscall.SIGKILL) // the cause is in err
		return r, err
	}
	for _, signal := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGKILL} {
		if p.Signal(signal) != nil {
			break
		}
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), quitGrace)
		var quitErr error
		r, quitErr = p.Wait(grace)
		cancel()
		if quitErr == nil {
			return r, err
		}
	}
	return r, fmt.Errorf("%w; it survived SIGKILL: the kernel of the guest holds it, or the guest does not answer at all", err)
}

// Await waits for a line of output that matches, from the beginning, and returns
// it. It fails when the program ends without one.
func (p *Process) Await(ctx context.Context, line *regexp.Regexp) (string, error) {
	next := 0
	for {
		p.mu.Lock()
		for i := max(0, next-p.dropped); i < len(p.lines); i++ {
			if line.MatchString(p.lines[i]) {
				found := p.lines[i]
				p.mu.Unlock()
				return found, nil
			}
		}
		next = p.dropped + len(p.lines)
		ended, err, result, changed := p.ended, p.err, p.result, p.changed
		p.mu.Unlock()
		if err != nil {
			return "", err
		}
		if ended {
			return "", fmt.Errorf("rocevm: the program in guest %s ended (status %d) without the line %q:\n%s", p.guest.Name, result.Status, line, tail(result.Output, consoleTail))
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", fmt.Errorf("rocevm: waiting for the line %q from guest %s: %w", line, p.guest.Name, context.Cause(ctx))
		}
	}
}

// Signal sends a signal to the program and its children.
func (p *Process) Signal(signal syscall.Signal) error {
	return p.guest.send(agent.Request{Op: agent.OpSignal, ID: p.id, Signal: int(signal)}, nil)
}

// Kill ends the program and its children as kill -9 does, and waits for the end.
func (p *Process) Kill(ctx context.Context) error {
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	_, err := p.Wait(ctx)
	return err
}
