package agent

import (
	"context"
	"encoding/json"
	"net"
	"syscall"
	"testing"
)

// host is the other end of a Serve.
type host struct {
	t      *testing.T
	out    *Writer
	events *json.Decoder
	result chan error
}

func serve(t *testing.T) *host {
	t.Helper()
	near, far := net.Pipe()
	h := &host{t: t, out: NewWriter(near), events: json.NewDecoder(near), result: make(chan error, 1)}
	go func() { h.result <- Serve(context.Background(), far, Event{Text: "kernel"}) }()
	t.Cleanup(func() { near.Close() })
	if e := h.next(); e.Kind != KindHello || e.Text != "kernel" {
		t.Fatalf("got %+v, want hello", e)
	}
	return h
}

func (h *host) send(r Request) {
	h.t.Helper()
	if err := h.out.Send(r); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) next() Event {
	h.t.Helper()
	var e Event
	if err := h.events.Decode(&e); err != nil {
		h.t.Fatal(err)
	}
	return e
}

// TestOneExitPerStart checks P1 and P2 for programs that run, fail and do not
// exist.
func TestOneExitPerStart(t *testing.T) {
	h := serve(t)
	commands := [][]string{{"sh", "-c", "echo a; echo b >&2; exit 5"}, {"/no/such/program"}, nil, {"true"}}
	go func() {
		// The pipe has no buffer: a host reads while it writes.
		for i, argv := range commands {
			_ = h.out.Send(Request{Op: OpStart, ID: i + 1, Argv: argv})
		}
	}()
	exits := map[int]Event{}
	output := map[int]string{}
	for len(exits) < len(commands) {
		e := h.next()
		if _, over := exits[e.ID]; over {
			t.Errorf("event %+v behind the exit", e)
		}
		switch e.Kind {
		case KindOutput:
			output[e.ID] += string(e.Data)
		case KindExit:
			exits[e.ID] = e
		default:
			t.Errorf("event %+v", e)
		}
	}
	if output[1] != "a\nb\n" || exits[1].Status != 5 || exits[1].Error != "" {
		t.Errorf("the failing program: %q, %+v", output[1], exits[1])
	}
	if exits[2].Status != 127 || exits[2].Error == "" || exits[3].Error == "" || exits[4].Status != 0 {
		t.Errorf("got %+v", exits)
	}
}

func TestSignalReachesTheGroup(t *testing.T) {
	h := serve(t)
	h.send(Request{Op: OpStart, ID: 1, Argv: []string{"sh", "-c", "sleep 1000 & echo up; wait"}})
	if e := h.next(); string(e.Data) != "up\n" {
		t.Fatalf("got %+v", e)
	}
	h.send(Request{Op: OpSignal, ID: 99, Signal: int(syscall.SIGKILL)}) // nobody
	h.send(Request{Op: OpSignal, ID: 1, Signal: int(syscall.SIGKILL)})
	if e := h.next(); e.Kind != KindExit || e.Signal != int(syscall.SIGKILL) || e.Status != 137 {
		t.Errorf("got %+v", e)
	}
}

func TestUnknownRequestIsAnswered(t *testing.T) {
	h := serve(t)
	h.send(Request{Op: "dance", ID: 3})
	if e := h.next(); e.Kind != KindExit || e.ID != 3 || e.Error == "" {
		t.Errorf("got %+v", e)
	}
}

func TestPowerOffEndsServe(t *testing.T) {
	h := serve(t)
	h.send(Request{Op: OpPowerOff})
	if err := <-h.result; err != nil {
		t.Errorf("got %v", err)
	}
}

// TestLostHostKillsPrograms checks the half of P3 that is not the power switch.
func TestLostHostKillsPrograms(t *testing.T) {
	near, far := net.Pipe()
	result := make(chan error, 1)
	go func() { result <- Serve(context.Background(), far, Event{}) }()
	events := json.NewDecoder(near)
	var e Event
	if err := events.Decode(&e); err != nil {
		t.Fatal(err)
	}
	if err := NewWriter(near).Send(Request{Op: OpStart, ID: 1, Argv: []string{"sh", "-c", "echo up; sleep 1000"}}); err != nil {
		t.Fatal(err)
	}
	if err := events.Decode(&e); err != nil {
		t.Fatal(err)
	}
	near.Close()
	if err := <-result; err == nil {
		t.Error("Serve did not notice that the host is gone")
	}
}
