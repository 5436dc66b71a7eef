package host

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/remora-kv/remora/test/benchtest"
)

// word is a command, and echo what the server says to it.
type (
	word struct{ Do string }
	echo struct{ Said string }
)

func (w word) Name() string { return w.Do }

// obey answers, refuses, or waits for the end of the input.
func obeyWord(ctx context.Context, w *word) (echo, error) {
	switch w.Do {
	case "refuse":
		return echo{"nothing"}, errors.New("no")
	case "wait":
		<-ctx.Done()
	}
	return echo{w.Do}, nil
}

func obeyWords(ctx context.Context, in io.Reader, out io.Writer) error {
	return Obey(ctx, in, out, obeyWord)
}

// A server answers the same whether it is a process or a goroutine.
func servers(t *testing.T, ctx context.Context) map[string]*Peer[word, echo] {
	t.Helper()
	argv := benchtest.Self(benchtest.Server)
	p, err := StartPeer[word, echo](ctx, nil, argv)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*Peer[word, echo]{"process": p, "goroutine": GoPeer[word, echo](ctx, obeyWords)}
}

func TestAsk(t *testing.T) {
	for name, s := range servers(t, t.Context()) {
		if a, err := s.Ask(word{"hello"}); err != nil || a.Said != "hello" {
			t.Errorf("%s: answered %+v, %v", name, a, err)
		}
		if a, err := s.Ask(word{"refuse"}); err == nil || err.Error() != "server: no" || a.Said != "" {
			t.Errorf("%s: refused with %+v, %v", name, a, err)
		}
		if a, err := s.Ask(word{"again"}); err != nil || a.Said != "again" {
			t.Errorf("%s: after a refusal answered %+v, %v", name, a, err)
		}
		if (s.Pid() != 0) != (name == "process") {
			t.Errorf("%s has process id %d", name, s.Pid())
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Close interrupts a command that is at work, and so does the end of the context.
func TestTheEndIsNoticedAtWork(t *testing.T) {
	for name, s := range servers(t, t.Context()) {
		asked := make(chan error, 1)
		go func() {
			_, err := s.Ask(word{"wait"})
			asked <- err
		}()
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		<-asked // an answer, or that the server is gone
	}
	ctx, cancel := context.WithCancel(t.Context())
	both := servers(t, ctx)
	cancel()
	for name, s := range both {
		if err := s.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestADeadServerSaysWhatItWrote(t *testing.T) {
	argv := benchtest.Self(benchtest.Broken)
	s, err := StartPeer[word, echo](t.Context(), nil, argv)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Ask(word{"hello"})
	if !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), "no such luck") {
		t.Errorf("a server that died gave %v", err)
	}
	if err := s.Blame(io.EOF); !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "no such luck") {
		t.Errorf("its death is blamed as %v", err)
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "no such luck") {
		t.Errorf("closing it gave %v", err)
	}
}

func TestAskFailsWhenTheServerIsGone(t *testing.T) {
	r, w := io.Pipe()
	_ = r.Close()
	if _, err := newWire[word, echo](strings.NewReader(""), w).ask(word{"x"}); !errors.Is(err, ErrGone) {
		t.Errorf("a closed input gave %v", err)
	}
	for _, answer := range []string{"", "no JSON", "{", "7", `{"Said":1}`} {
		if _, err := newWire[word, echo](strings.NewReader(answer), io.Discard).ask(word{"x"}); !errors.Is(err, ErrGone) {
			t.Errorf("the answer %q gave %v", answer, err)
		}
	}
}

func TestServeRefusesWhatIsNotItsProtocol(t *testing.T) {
	var out bytes.Buffer
	if err := obeyWords(t.Context(), strings.NewReader("GET / HTTP/1.1\r\n"), &out); err == nil || out.Len() != 0 {
		t.Errorf("a browser got %q, %v", out.String(), err)
	}
}
