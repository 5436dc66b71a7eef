package verbs

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
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
		h := &verbsServer{providers: provider.New(), scale: cycles.Calibrate()}
		if err := bench.Serve(t.Context(), strings.NewReader(tc.say+"\n"), &out, h); err != nil {
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

// The goroutine server ends when its context does, without a word from the
// client.
func TestGoroutineServerEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := &verbsServer{providers: provider.New(), scale: cycles.Calibrate()}
	p := host.GoPeer[bench.Order[Case], bench.Answer](ctx, func(ctx context.Context, in io.Reader, out io.Writer) error {
		return bench.Serve(ctx, in, out, h)
	})
	cancel()
	if err := p.Wait(); err != nil {
		t.Error(err)
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
