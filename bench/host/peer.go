package host

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
)

// Peer is the server that a case talks to, as its client sees it: a process, or
// for the loop fabric a goroutine of this one. It takes commands C and gives
// answers A.
type Peer[C Command, A any] struct {
	*Process
	wire *wire[C, A]
}

// StartPeer starts a server process by a command line; files become its descriptors from 3 on.
// It runs on no other CPUs than cpus; nil means those of this process. It ends by itself when its input does; the end of ctx ends its
// input.
func StartPeer[C Command, A any](ctx context.Context, cpus []int, argv []string, files ...*os.File) (*Peer[C, A], error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.ExtraFiles = files
	return startPeer[C, A](cmd, cpus)
}

// startPeer is StartPeer for a command that has no pipes yet.
func startPeer[C Command, A any](cmd *exec.Cmd, cpus []int) (*Peer[C, A], error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p, err := StartProcess(cmd, in.Close, cpus)
	if err != nil {
		return nil, err
	}
	return &Peer[C, A]{p, newWire[C, A](out, in)}, nil
}

// GoPeer starts a server in this process: serve must return when its input ends, as
// Serve does.
func GoPeer[C Command, A any](ctx context.Context, serve func(ctx context.Context, in io.Reader, out io.Writer) error) *Peer[C, A] {
	cmdIn, cmdOut := io.Pipe()
	ansIn, ansOut := io.Pipe()
	p := GoProcess(cmdOut.Close, func() error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		context.AfterFunc(ctx, func() { _ = cmdOut.Close() })
		err := serve(ctx, cmdIn, ansOut)
		return errors.Join(err, cmdIn.Close(), ansOut.Close())
	})
	return &Peer[C, A]{p, newWire[C, A](ansIn, cmdOut)}
}

// Ask sends a command and waits for its answer. It explains a process that died.
func (s *Peer[C, A]) Ask(cmd C) (A, error) {
	a, err := s.wire.ask(cmd)
	if err != nil && errors.Is(err, ErrGone) {
		return a, s.Obituary(err)
	}
	return a, err
}
