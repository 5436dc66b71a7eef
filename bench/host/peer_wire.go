package host

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// Command is what the client tells the server to do.
type Command interface {
	// Name is the name of what is to be done.
	Name() string
}

// Refusal is the error of a command that the other process has refused.
type Refusal struct{ Text string }

// Error implements error.
func (r Refusal) Error() string { return "server: " + r.Text }

// refusal is the answer to a command that failed.
type refusal struct{ Error string }

// wire is the client's end of the protocol.
type wire[C Command, A any] struct {
	in  *json.Decoder
	out *json.Encoder
}

func newWire[C Command, A any](in io.Reader, out io.Writer) *wire[C, A] {
	return &wire[C, A]{in: json.NewDecoder(bufio.NewReader(in)), out: json.NewEncoder(out)}
}

// ask sends a command and waits for its answer.
func (w *wire[C, A]) ask(cmd C) (a A, err error) {
	if err := w.out.Encode(cmd); err != nil {
		return a, fmt.Errorf("%w: sending %q: %w", ErrGone, cmd.Name(), err)
	}
	var line json.RawMessage
	var no refusal
	err = w.in.Decode(&line)
	if err == nil {
		err = json.Unmarshal(line, &no)
	}
	if err == nil && no.Error != "" {
		return a, Refusal{no.Error}
	}
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	if err != nil {
		return a, fmt.Errorf("%w: waiting for the answer to %q: %w", ErrGone, cmd.Name(), err)
	}
	return a, nil
}
