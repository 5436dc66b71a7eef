package agent

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// PortName is the name of the virtio-serial port that carries the protocol.
const PortName = "rocevm"

// Op is what the host asks for.
type Op string

// The requests.
const (
	OpStart    Op = "start"    // run Argv under ID
	OpSignal   Op = "signal"   // send Signal to the process group of ID
	OpRead     Op = "read"     // send the file Path as output of ID
	OpPowerOff Op = "poweroff" // end the guest
)

// Request is one line from the host to the guest.
type Request struct {
	Op     Op       `json:"op"`
	ID     int      `json:"id,omitempty"`
	Argv   []string `json:"argv,omitempty"`
	Env    []string `json:"env,omitempty"` // added to the agent's own
	Dir    string   `json:"dir,omitempty"`
	Signal int      `json:"signal,omitempty"`
	Path   string   `json:"path,omitempty"`
}

// Kind is what the guest reports.
type Kind string

// The events.
const (
	KindHello  Kind = "hello"  // the guest is up; Error says what failed in it
	KindOutput Kind = "output" // Data was printed by ID
	KindExit   Kind = "exit"   // ID is over
)

// Event is one line from the guest to the host.
type Event struct {
	Kind   Kind   `json:"kind"`
	ID     int    `json:"id,omitempty"`
	Data   []byte `json:"data,omitempty"`
	Status int    `json:"status,omitempty"` // exit status; 128 + signal after a signal
	Signal int    `json:"signal,omitempty"` // the signal that ended the program
	Error  string `json:"error,omitempty"`  // why there was nothing to run or to read
	Text   string `json:"text,omitempty"`   // hello: the kernel's release
	Uptime int64  `json:"uptime,omitempty"` // hello: nanoseconds since the guest's kernel started
}

// Writer sends messages as lines; it may be used from any goroutine.
type Writer struct {
	mu sync.Mutex
	w  io.Writer
}

// NewWriter returns a Writer over w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Send writes one message in one call of Write.
func (w *Writer) Send(message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("agent: encode %T: %w", message, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.w.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("agent: send: %w", err)
	}
	return nil
}
