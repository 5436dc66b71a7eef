package cachetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
)

// Operation is a call with its outcome, and the times between which it happened.
type Operation struct {
	Client     int
	Call       Call
	Outcome    Outcome
	Start, End int64
}

// String writes the operation on a line.
func (o *Operation) String() string {
	end := "never"
	if o.End != math.MaxInt64 {
		end = fmt.Sprint(o.End)
	}
	return fmt.Sprintf("%d..%s client %d: %v -> %v", o.Start, end, o.Client, o.Call, o.Outcome)
}

// Journal is where clients write down what they do, from any goroutine.
type Journal interface {
	// Begin is called before an operation begins, and returns its number.
	Begin(client int, c *Call) int
	// End is called after it has ended.
	End(number int, o *Outcome)
}

// History is a Journal in memory.
type History struct {
	mu  sync.Mutex
	ops []Operation
}

// Begin implements Journal.
func (h *History) Begin(client int, c *Call) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, Operation{
		Client: client, Call: *c, Start: Now(), End: math.MaxInt64, Outcome: Outcome{Status: Unknown},
	})
	return len(h.ops) - 1
}

// End implements Journal.
func (h *History) End(number int, o *Outcome) {
	now := Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops[number].Outcome, h.ops[number].End = *o, now
}

// Operations returns all operations. Those that have not ended are Unknown.
func (h *History) Operations() []Operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Operation(nil), h.ops...)
}

// Count returns how many operations ended with a status.
func (h *History) Count(s Status) int {
	n := 0
	for _, o := range h.Operations() {
		if o.Outcome.Status == s {
			n++
		}
	}
	return n
}

// event is a line of a Writer: a beginning or an end.
type event struct {
	Number  int      `json:"n"`
	Client  int      `json:"client,omitempty"`
	At      int64    `json:"at"`
	Call    *Call    `json:"call,omitempty"`
	Outcome *Outcome `json:"outcome,omitempty"`
}

// Writer is a Journal that another process reads (H3).
type Writer struct {
	mu   sync.Mutex
	out  *json.Encoder
	next int
	err  error
}

// NewWriter writes lines to w, which must not hold them back.
func NewWriter(w io.Writer) *Writer { return &Writer{out: json.NewEncoder(w)} }

// Begin implements Journal.
func (w *Writer) Begin(client int, c *Call) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	w.write(event{Number: w.next, Client: client, At: Now(), Call: c})
	return w.next
}

// End implements Journal.
func (w *Writer) End(number int, o *Outcome) {
	now := Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.write(event{Number: number, At: now, Outcome: o})
}

func (w *Writer) write(e event) {
	if err := w.out.Encode(e); err != nil && w.err == nil {
		w.err = err
	}
}

// Err returns the first error of writing.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Read adds what a Writer wrote, up to its end. A last line that is cut off, as
// that of a killed process, counts as not written. Each call of onEvent, which may
// be nil, is for one line.
func (h *History) Read(r io.Reader, onEvent func()) error {
	numbers := map[int]int{}
	for in := json.NewDecoder(r); ; {
		var e event
		err := in.Decode(&e)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cachetest: reading a history: %w", err)
		}
		if err := h.add(numbers, &e); err != nil {
			return err
		}
		if onEvent != nil {
			onEvent()
		}
	}
}

func (h *History) add(numbers map[int]int, e *event) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.Call != nil {
		numbers[e.Number] = len(h.ops)
		h.ops = append(h.ops, Operation{
			Client: e.Client, Call: *e.Call, Start: e.At, End: math.MaxInt64, Outcome: Outcome{Status: Unknown},
		})
		return nil
	}
	at, ok := numbers[e.Number]
	if !ok || e.Outcome == nil {
		return fmt.Errorf("cachetest: the end of operation %d, which has not begun", e.Number)
	}
	h.ops[at].Outcome, h.ops[at].End = *e.Outcome, e.At
	return nil
}
