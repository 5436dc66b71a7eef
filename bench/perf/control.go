package perf

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The control protocol: JSON objects, one per line, over the standard input
// and output of the server process. The client says what to do, the server
// does it and answers, one after the other; when its input ends, it exits.
//
//	setup   Case, CPUs, threads, where to listen   -> address, datagram addresses
//	        (no threads: the server takes what its own machine has)
//	link    datagram addresses of the client       -> (all lanes are connected)
//	start                                          -> (the programs run)
//	run     budget                                 -> tally (of an outbound test)
//	stop                                           -> tally
//	verify  operations that were posted            -> (the memory is right)
type command struct {
	Do       string
	Case     *Case    `json:",omitempty"`
	CPUs     []int    `json:",omitempty"`
	Threads  int      `json:",omitempty"`
	Listen   string   `json:",omitempty"`
	Datagram [][]byte `json:",omitempty"`
	Budget   budget
	Ops      uint64 `json:",omitempty"`
}

// The commands.
const (
	doSetup  = "setup"
	doLink   = "link"
	doStart  = "start"
	doRun    = "run"
	doStop   = "stop"
	doVerify = "verify"
)

// answer is what the server says to a command.
type answer struct {
	Error    string     `json:",omitempty"`
	Address  string     `json:",omitempty"`
	Datagram [][]byte   `json:",omitempty"`
	Tally    *wireTally `json:",omitempty"`
}

// wire is one end of the control protocol.
type wire struct {
	in  *json.Decoder
	out *json.Encoder
}

func newWire(in io.Reader, out io.Writer) *wire {
	return &wire{in: json.NewDecoder(bufio.NewReader(in)), out: json.NewEncoder(out)}
}

// errServerGone is wrapped when the server's output ended before its answer.
var errServerGone = errors.New("the server process ended")

// ask sends a command and waits for its answer.
func (w *wire) ask(cmd command) (answer, error) {
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
