package call

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// The control protocol: JSON objects, one per line, over the standard input and
// output of the server process. The client says what to do, the server does it
// and answers, one after the other; when its input ends, it exits.
//
//	setup   Case, CPUs, where to listen   -> address
//	        (Apart: the server takes the CPUs of its own machine)
//	count                                 -> what was used until now
type command struct {
	Do     string
	Case   *Case  `json:",omitempty"`
	CPUs   []int  `json:",omitempty"`
	Apart  bool   `json:",omitempty"`
	Listen string `json:",omitempty"`
}

// The commands.
const (
	doSetup = "setup"
	doCount = "count"
)

// answer is what the server says to a command.
type answer struct {
	Error   string `json:",omitempty"`
	Address string `json:",omitempty"`
	Used    *used  `json:",omitempty"`
}

// used is what a process has used since some time in the past.
type used struct {
	Time  time.Duration // of a clock that only differences are taken of
	CPU   time.Duration
	Verbs verbs
	Lost  uint64 // clients that were cut or vanished
}

// control is one end of the control protocol.
type control struct {
	in  *json.Decoder
	out *json.Encoder
}

func newControl(in io.Reader, out io.Writer) *control {
	return &control{in: json.NewDecoder(bufio.NewReader(in)), out: json.NewEncoder(out)}
}

// errServerGone is wrapped when the server's output ended before its answer.
var errServerGone = errors.New("the server process ended")

// ask sends a command and waits for its answer.
func (w *control) ask(cmd command) (answer, error) {
	if err := w.out.Encode(cmd); err != nil {
		return answer{}, fmt.Errorf("%w: sending %q: %w", errServerGone, cmd.Do, err)
	}
	var a answer
	if err := w.in.Decode(&a); err != nil {
		return answer{}, fmt.Errorf("%w: waiting for the answer to %q: %w", errServerGone, cmd.Do, err)
	}
	if a.Error != "" {
		return answer{}, fmt.Errorf("server: %s", a.Error)
	}
	return a, nil
}
