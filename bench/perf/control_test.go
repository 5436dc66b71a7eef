package perf

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/cycles"
)

// The server answers every mistake and goes on, and ends with its input.
func TestServerAnswersMistakes(t *testing.T) {
	for _, tc := range []struct{ say, want string }{
		{`{"Do":"start"}`, `"start" before "setup"`},
		{`{"Do":"setup"}`, "without a case"},
		{`{"Do":"setup","Threads":1,"Case":{"Fabric":"ether","Threads":1,"QPs":1,"Window":1,"Size":8,"Kind":1}}`, `"ether" is unknown`},
		{`{"Do":"setup","Threads":1,"Case":{"Fabric":"tcp","Threads":1,"QPs":1,"Window":1,"Size":8,"Kind":1},"Listen":"tcp://"}`, "no host:port"},
	} {
		var out bytes.Buffer
		h := &host{providers: provider.New(), scale: cycles.Calibrate()}
		if err := h.serve(t.Context(), func() {}, newWire(strings.NewReader(tc.say+"\n"), &out)); err != nil {
			t.Errorf("%s: the server ended with %v", tc.say, err)
		}
		if !strings.Contains(strings.ReplaceAll(out.String(), `\"`, `"`), tc.want) {
			t.Errorf("%s: %q does not say %q", tc.say, out.String(), tc.want)
		}
	}
}

func TestServerRefusesWhatIsNotItsProtocol(t *testing.T) {
	var out bytes.Buffer
	if err := Serve(t.Context(), provider.New(), strings.NewReader("GET / HTTP/1.1\r\n"), &out); err == nil || out.Len() != 0 {
		t.Errorf("a browser got %q, %v", out.String(), err)
	}
}

func TestAskFailsWhenTheServerIsGone(t *testing.T) {
	r, w := io.Pipe()
	_ = r.Close()
	if _, err := newWire(strings.NewReader(""), w).ask(command{Do: doStart}); !errors.Is(err, errServerGone) {
		t.Errorf("a closed input gave %v", err)
	}
	if _, err := newWire(strings.NewReader(""), io.Discard).ask(command{Do: doStart}); !errors.Is(err, errServerGone) {
		t.Errorf("an ended output gave %v", err)
	}
	if _, err := newWire(strings.NewReader(`{"Error":"no"}`), io.Discard).ask(command{}); err == nil || err.Error() != "server: no" {
		t.Errorf("an error of the server became %v", err)
	}
}

// The goroutine server ends when its context does, without a word from the
// client.
func TestGoroutineServerEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := startGoroutine(ctx, provider.New(), cycles.Calibrate())
	cancel()
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var last tail
	for range 3 {
		if n, err := last.Write(bytes.Repeat([]byte("x"), tailSize)); n != tailSize || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := last.Write([]byte("end\n")); err != nil {
		t.Fatal(err)
	}
	if s := last.String(); len(s) > tailSize || !strings.HasSuffix(s, "xend") {
		t.Errorf("%d bytes are kept, ending in %q", len(s), s[len(s)-4:])
	}
}

func TestPrivateDataOfStrangersIsRefused(t *testing.T) {
	l := &lane{}
	if id, r, err := parsePrivate(l.private(7)); id != 7 || r.Addr != 0 || err != nil {
		t.Errorf("lane 7 became %d %v %v", id, r, err)
	}
	for _, b := range [][]byte{nil, make([]byte, privateSize), l.private(1)[:privateSize-1]} {
		if _, _, err := parsePrivate(b); err == nil {
			t.Errorf("% x was taken", b)
		}
	}
}
