package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"time"
)

// writeTimeout is how long a controller may take nothing.
const writeTimeout = 30 * time.Second

// hearTimeout is how long a controller may take to hang up after the last line, and how long it
// waits for an agent that it has hung up on.
const hearTimeout = 5 * time.Second

// patient is a connection whose peer must read.
type patient struct{ net.Conn }

// Write implements io.Writer.
func (p patient) Write(b []byte) (int, error) {
	if err := p.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return p.Conn.Write(b)
}

// carry starts a client process and carries lines between it and a connection, until one of
// them ends (A5).
func (a *agent) carry(ctx context.Context, conn net.Conn, in io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, a.Command[0], a.Command[1:]...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p, err := StartProcess(cmd, stdin.Close, nil)
	gone := follow(stdin, in)
	if err != nil {
		err = a.tell(conn, fmt.Errorf("it cannot start a client process: %w", err))
		hearOut(conn, gone)
		return err
	}
	go func() {
		<-gone
		select {
		case <-p.Done():
		case <-time.After(a.Grace):
			_ = cmd.Process.Kill() // it does not listen (A5)
		}
	}()
	if _, err := io.Copy(patient{conn}, stdout); err != nil && !errors.Is(err, os.ErrClosed) {
		_ = conn.Close() // who does not read is gone
	}
	select {
	case <-gone:
		return p.Close()
	case <-ctx.Done():
		return p.Close()
	case <-p.Done():
	}
	how := p.Wait()
	if how == nil {
		how = ErrGone
	}
	err = a.tell(conn, fmt.Errorf("its client process ended: %w%s", how, p.Said()))
	hearOut(conn, gone)
	return err
}

// follow gives commands to a process as they come, and closes what it returns when there are no
// more: the controller is gone. Without a process, or when it is gone first, they go nowhere.
func follow(stdin io.WriteCloser, in io.Reader) <-chan struct{} {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(stdin, in)
		_ = stdin.Close()
		_, _ = io.Copy(io.Discard, in)
	}()
	return gone
}

// hear lets a controller read the last line: to close a connection while commands of it are
// unread would take that line back. A controller that has read it hangs up.
func hearOut(conn net.Conn, gone <-chan struct{}) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
	_ = conn.SetReadDeadline(time.Now().Add(hearTimeout))
	<-gone
}

// tell lets the controller know why there are no more answers: it waits for one.
func (a *agent) tell(conn net.Conn, why error) error {
	_ = writeLine(patient{conn}, verdict{why.Error()})
	return why
}
