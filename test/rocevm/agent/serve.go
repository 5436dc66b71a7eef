package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// outputGrace is how long the agent still reads the output of a program that
// has ended while a child of it keeps the pipe open.
const outputGrace = 2 * time.Second

// readChunk bounds an output event that carries a part of a file.
const readChunk = 64 << 10

// server runs the programs of one host.
type server struct {
	out *Writer

	mu      sync.Mutex
	running map[int]*exec.Cmd
	done    sync.WaitGroup
}

// Serve answers the requests that arrive on conn, after a hello with what the
// caller says about the guest. It returns nil after OpPowerOff and an error when
// the host is gone; what still runs then has been killed.
func Serve(ctx context.Context, conn io.ReadWriter, hello Event) error {
	ctx, cancel := context.WithCancel(ctx)
	s := &server{out: NewWriter(conn), running: make(map[int]*exec.Cmd)}
	defer s.done.Wait()
	defer cancel()

	hello.Kind = KindHello
	if err := s.out.Send(hello); err != nil {
		return err
	}
	requests := json.NewDecoder(conn)
	for {
		var r Request
		if err := requests.Decode(&r); err != nil {
			return fmt.Errorf("agent: the host is gone: %w", err)
		}
		if r.Op == OpPowerOff {
			return nil
		}
		s.handle(ctx, r)
	}
}

func (s *server) handle(ctx context.Context, r Request) {
	switch r.Op {
	case OpStart:
		s.start(ctx, r)
	case OpSignal:
		s.signal(r)
	case OpRead:
		s.done.Go(func() { s.read(r) })
	case OpPowerOff:
	default:
		s.exit(Event{ID: r.ID, Status: 126, Error: fmt.Sprintf("unknown request %q: build agent and harness from one tree", r.Op)})
	}
}

// start runs a program in a process group of its own, so that a signal reaches
// its children too.
func (s *server) start(ctx context.Context, r Request) {
	if len(r.Argv) == 0 {
		s.exit(Event{ID: r.ID, Status: 126, Error: "start without a program"})
		return
	}
	cmd := exec.CommandContext(ctx, r.Argv[0], r.Argv[1:]...)
	cmd.Env = append(os.Environ(), r.Env...)
	cmd.Dir = r.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = outputGrace
	output := &outputWriter{out: s.out, id: r.ID}
	cmd.Stdout, cmd.Stderr = output, output

	if err := cmd.Start(); err != nil {
		s.exit(Event{ID: r.ID, Status: 127, Error: err.Error()})
		return
	}
	s.mu.Lock()
	s.running[r.ID] = cmd
	s.mu.Unlock()
	s.done.Go(func() {
		err := cmd.Wait()
		s.mu.Lock()
		delete(s.running, r.ID)
		s.mu.Unlock()
		s.exit(exitEvent(r.ID, cmd.ProcessState, err))
	})
}

// exitEvent says how a program ended. A pipe that a child of the program held
// open is not the program's failure.
func exitEvent(id int, state *os.ProcessState, err error) Event {
	e := Event{Kind: KindExit, ID: id}
	if state == nil {
		e.Status, e.Error = 127, fmt.Sprint(err)
		return e
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		e.Signal = int(status.Signal())
		e.Status = 128 + e.Signal
		return e
	}
	e.Status = state.ExitCode()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) && !errors.Is(err, exec.ErrWaitDelay) {
		e.Error = err.Error()
	}
	return e
}

func (s *server) signal(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cmd := s.running[r.ID]; cmd != nil {
		// The program may end at this moment; its exit tells.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.Signal(r.Signal))
	}
}

func (s *server) read(r Request) {
	e := Event{ID: r.ID}
	if err := s.sendFile(r); err != nil {
		e.Status, e.Error = 1, err.Error()
	}
	s.exit(e)
}

func (s *server) sendFile(r Request) error {
	f, err := os.Open(r.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.CopyBuffer(&outputWriter{out: s.out, id: r.ID}, struct{ io.Reader }{f}, make([]byte, readChunk))
	return err
}

// exit reports the end of an id. A host that cannot hear it any more is noticed
// by the loop of Serve.
func (s *server) exit(e Event) {
	e.Kind = KindExit
	_ = s.out.Send(e)
}

// outputWriter sends what is written to it as output events.
type outputWriter struct {
	out *Writer
	id  int
}

func (w *outputWriter) Write(p []byte) (int, error) {
	if err := w.out.Send(Event{Kind: KindOutput, ID: w.id, Data: p}); err != nil {
		return 0, err
	}
	return len(p), nil
}
