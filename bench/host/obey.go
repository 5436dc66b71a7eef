package host

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
)

// Obey obeys the commands on in and answers on out until in ends. It reads
// commands in a goroutine of its own, so that the end of the input is noticed while
// a command is at work: it ends the context of obey.
func Obey[C, A any](ctx context.Context, in io.Reader, out io.Writer, obey func(context.Context, *C) (A, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmds := make(chan C)
	read := make(chan error, 1)
	go func() {
		defer close(cmds)
		defer cancel()
		read <- readAll(ctx, in, cmds)
	}()
	enc := json.NewEncoder(out)
	for cmd := range cmds {
		var say any
		a, err := obey(ctx, &cmd)
		if say = a; err != nil {
			say = refusal{err.Error()}
		}
		if err := enc.Encode(say); err != nil {
			return err
		}
	}
	err := <-read
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) || errors.Is(err, io.ErrClosedPipe) {
		err = nil
	}
	return err
}

// readAll hands out commands until there are no more.
func readAll[C any](ctx context.Context, in io.Reader, cmds chan<- C) error {
	dec := json.NewDecoder(bufio.NewReader(in))
	for {
		var cmd C
		if err := dec.Decode(&cmd); err != nil {
			return err
		}
		select {
		case cmds <- cmd:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
