package call

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/remora-kv/remora/internal/cycles"
)

// peer is the server that a case talks to: a process, or for the loop fabric a
// goroutine of this one.
type peer struct {
	*control
	pid   int // 0: this process
	input io.Closer
	ended chan error // what became of it, once its input was closed
	last  *tail      // the end of what it wrote to its standard error
}

// endTimeout is how long a server may take to end after its input has.
const endTimeout = 5 * time.Second

// startProcess starts a server process. It gets SIGKILL when this process dies,
// and ends by itself when its input does, whichever comes first; the end of ctx
// ends its input.
func startProcess(ctx context.Context, argv, env []string) (*peer, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = processAttr()
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p := &peer{control: newControl(out, in), input: in, ended: make(chan error, 1), last: &tail{}}
	cmd.Stderr = p.last
	cmd.Cancel, cmd.WaitDelay = in.Close, endTimeout
	started := make(chan error, 1)
	go func() {
		// The death signal is sent when the starting thread ends, so that
		// thread stays for as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.ended <- cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting the server process %s: %w", argv[0], err)
	}
	p.pid = cmd.Process.Pid
	return p, nil
}

// startGoroutine starts a server in this process.
func startGoroutine(ctx context.Context, providers Opener, scale cycles.Scale) *peer {
	cmdIn, cmdOut := io.Pipe()
	ansIn, ansOut := io.Pipe()
	p := &peer{control: newControl(ansIn, cmdOut), input: cmdOut, ended: make(chan error, 1), last: &tail{}}
	go func() {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		context.AfterFunc(ctx, func() { _ = cmdOut.Close() })
		h := &host{providers: providers, scale: scale, log: slog.New(slog.DiscardHandler)}
		err := h.serve(ctx, cancel, newControl(cmdIn, ansOut))
		p.ended <- errors.Join(err, cmdIn.Close(), ansOut.Close())
	}()
	return p
}

// ask is control.ask, and explains a process that died.
func (p *peer) ask(cmd command) (answer, error) {
	a, err := p.control.ask(cmd)
	if err != nil && errors.Is(err, errServerGone) {
		return a, p.obituary(err)
	}
	return a, err
}

// obituary adds to err how the process ended and what it said last.
func (p *peer) obituary(err error) error {
	select {
	case how := <-p.ended:
		p.ended <- how
		if how == nil {
			how = errors.New("without an error")
		}
		err = fmt.Errorf("%w (%w)", errServerGone, how)
	case <-time.After(endTimeout):
	}
	if said := p.last.String(); said != "" {
		return fmt.Errorf("%w; it wrote:\n%s", err, said)
	}
	return err
}

// close ends the server and waits for it.
func (p *peer) close() error {
	_ = p.input.Close() // an error means that it is gone, which is what we want
	select {
	case err := <-p.ended:
		if err != nil {
			return fmt.Errorf("server: %w%s", err, p.said())
		}
		return nil
	case <-time.After(endTimeout):
	}
	if p.pid == 0 {
		return errors.New("server: did not end when it was told to")
	}
	_ = syscall.Kill(p.pid, syscall.SIGKILL)
	<-p.ended
	return fmt.Errorf("server process %d: did not end when it was told to and was killed%s", p.pid, p.said())
}

func (p *peer) said() string {
	if s := p.last.String(); s != "" {
		return "; it wrote:\n" + s
	}
	return ""
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

// tailSize is how much is kept.
const tailSize = 4096

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if n := len(t.buf) - tailSize; n > 0 {
		t.buf = append(t.buf[:0], t.buf[n:]...)
	}
	return len(b), nil
}

// String returns the end of the text.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.buf))
}
