package remora_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/internal/path"
	"github.com/remora-kv/remora/rpc"
)

func TestDialErrors(t *testing.T) {
	ctx := testContext(t)
	r := newRig(t, "loop")
	for _, c := range []struct {
		url   string
		is    error
		tells string
	}{
		{"", remora.ErrInvalid, "has no fabric"},
		{"smoke:signals", remora.ErrInvalid, "unknown fabric"},
		{"tcp://nowhere", remora.ErrInvalid, "host:port"},
		{"shm:/nowhere?path=sideways", remora.ErrInvalid, "path"},
		{"loop:cache", remora.ErrInvalid, "WithDevice"},
		{"shm:/nowhere/at.all", remora.ErrUnavailable, "shm:/nowhere/at.all"},
		{"tcp://127.0.0.1:1", remora.ErrUnavailable, "tcp://127.0.0.1:1"},
	} {
		_, err := remora.Dial(ctx, c.url)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.tells) {
			t.Errorf("Dial(%q): %v, want %v that tells of %q", c.url, err, c.is, c.tells)
		}
	}
	_, err := remora.Dial(ctx, "loop:cache", remora.WithDevice(r.device()))
	if !errors.Is(err, remora.ErrUnavailable) || !errors.Is(err, fabric.ErrRefused) {
		t.Errorf("nobody there: %v", err)
	}
}

func TestOptionErrors(t *testing.T) {
	bad := []remora.Option{
		remora.WithWindow(-1), remora.WithBatch(0), remora.WithFlushAfter(-1), remora.WithPath("sideways"),
		remora.WithFetch(-1, 0), remora.WithBackoff(0, 0), remora.WithDialTimeout(0), remora.WithReconnectWait(-1), nil,
	}
	_, err := remora.Dial(testContext(t), "nothing", bad...)
	if !errors.Is(err, remora.ErrInvalid) {
		t.Fatal(err)
	}
	for _, word := range []string{
		"address", "window of -1", "batch of 0", "flush after", "sideways", "fetch size", "backoff", "dial timeout", "reconnect wait",
	} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q is not in: %v", word, err)
		}
	}
	r := newRig(t, "loop")
	r.serve()
	c := r.dial(remora.WithLogger(nil))
	for _, o := range []remora.Option{remora.WithBatch(-1), remora.WithDevice(r.device()), remora.WithLogger(nil)} {
		if _, err := c.Session(testContext(t), o); !errors.Is(err, remora.ErrInvalid) {
			t.Errorf("a session with an option that it cannot have: %v", err)
		}
	}
}

// What options ask for is what connections are made with.
func TestOptionsReachConnections(t *testing.T) {
	r := newRig(t, "loop")
	r.serve()
	r.addr.Options = map[string][]string{"path": {"reply"}}
	c := r.dial(remora.WithWindow(3), remora.WithBatch(7), remora.WithBusyPoll(true), remora.WithFlushAfter(time.Minute),
		remora.WithFetch(512, 9), remora.WithPath(remora.PathFetch))
	cfg := remora.PathConfig(c)
	if cfg.Window != 3 || cfg.Batch != 7 || !cfg.Busy || cfg.FlushAfter != time.Minute || cfg.FetchSize != 512 ||
		cfg.Retries != 9 || cfg.Path != path.Reply {
		t.Errorf("client: %+v", cfg)
	}
	if info := c.Info(); info.Path != remora.PathReply || info.Addr != "loop:cache" || info.Fabric != "loop" {
		t.Errorf("%+v", info)
	}
	s := session(t, c, remora.WithPath(remora.PathFetch))
	if cfg := remora.SessionPathConfig(s); cfg.Window != 3 || cfg.Batch != 1 || !cfg.Busy || cfg.Path != path.Fetch {
		t.Errorf("session: %+v", cfg)
	}
}

// A server whose welcome makes no sense is refused.
func TestStrangeServers(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *command.Welcome)
		is     error
	}{
		"another protocol":   {func(w *command.Welcome) { w.Protocol++ }, remora.ErrProtocol},
		"no cores":           {func(w *command.Welcome) { w.Cores = 0 }, remora.ErrProtocol},
		"too many cores":     {func(w *command.Welcome) { w.Cores = 1 << 30 }, remora.ErrProtocol},
		"fewer cores":        {func(w *command.Welcome) { w.Cores = 1 }, remora.ErrProtocol},
		"negative core":      {func(w *command.Welcome) { w.Core = -1 }, remora.ErrProtocol},
		"another core":       {func(w *command.Welcome) { w.Core = 1 - w.Core }, remora.ErrProtocol},
		"no keys":            {func(w *command.Welcome) { w.MaxKey = 0 }, remora.ErrProtocol},
		"no values":          {func(w *command.Welcome) { w.MaxValue = 0 }, remora.ErrProtocol},
		"other paths":        {func(w *command.Welcome) { w.Paths = []string{"herd"} }, remora.ErrUnsupported},
		"two instances":      {func(w *command.Welcome) { w.Instance += uint64(w.Core) }, remora.ErrUnavailable},
		"two seeds":          {func(w *command.Welcome) { w.Seed += uint64(w.Core) }, remora.ErrUnavailable},
		"paths not told":     {func(w *command.Welcome) { w.Paths = nil }, nil},
		"an unknown version": {func(w *command.Welcome) { w.Version = "1 000 000" }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "loop")
			var s *cache
			s = r.serve(cores(2), func(c *cache) { s = c }, before(func(core int, op command.Proc, _, out []byte) ([]byte, error, bool) {
				w := s.welcome
				w.Core = core
				c.change(&w)
				text, err := json.Marshal(w)
				return command.AppendStatus(append(out, text...), command.OK), err, op == command.Hello
			}))
			client, err := remora.Dial(testContext(t), r.addr.String(), remora.WithDevice(r.device()))
			if !errors.Is(err, c.is) {
				t.Errorf("%v, want %v", err, c.is)
			}
			if err == nil {
				_ = client.Close()
			}
		})
	}
}

// So is one that answers hello by what is no answer, or not at all.
func TestStrangeHellos(t *testing.T) {
	wait := make(chan struct{})
	for name, hello := range map[string]func(out []byte) ([]byte, error){
		"nothing":    func(out []byte) ([]byte, error) { return out, nil },
		"no JSON":    func(out []byte) ([]byte, error) { return append(out, '{', 0), nil },
		"a status":   func(out []byte) ([]byte, error) { return command.AppendStatus(out, command.Unsupported), nil },
		"a failure":  func(out []byte) ([]byte, error) { return out, &rpc.Error{Code: rpc.CodeFailed, Text: "speak up"} },
		"no hello":   func(out []byte) ([]byte, error) { return out, &rpc.Error{Code: rpc.CodeNoProcedure} },
		"no answer":  func(out []byte) ([]byte, error) { <-wait; return out, nil },
		"wrong type": func(out []byte) ([]byte, error) { return append(out, `{"cores":"many"}`+"\x00"...), nil },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "loop")
			r.serve(before(func(_ int, _ command.Proc, _, out []byte) ([]byte, error, bool) {
				out, err := hello(out)
				return out, err, true
			}))
			_, err := remora.Dial(testContext(t), r.addr.String(), remora.WithDevice(r.device()), remora.WithDialTimeout(30*time.Millisecond))
			if err == nil || !strings.Contains(err.Error(), "loop:cache") {
				t.Errorf("%v", err)
			}
			if name == "no answer" {
				close(wait) // so that the server can be closed
			}
		})
	}
}

func TestInfoStatsPing(t *testing.T) {
	r := newRig(t, "loop")
	s := r.serve(cores(3))
	c, ctx := r.dial(), testContext(t)
	want := remora.Info{
		Addr: "loop:cache", Fabric: "loop", Device: c.Info().Device, Path: remora.PathRFP, Version: "test",
		Instance: s.welcome.Instance, Cores: 3, MaxKey: remora.MaxKey, MaxValue: 1 << 20, Engine: "map", Mode: "store",
	}
	if got := c.Info(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if err := c.Ping(ctx); err != nil {
		t.Error(err)
	}
	docs, err := c.Stats(ctx)
	if err != nil || len(docs) != 3 || string(docs[2]) != `{"core":2,"report":2}` {
		t.Errorf("%s, %v", docs, err)
	}
	if n := c.Counters(); n.Calls != 19 || n.Batches != 19 {
		t.Errorf("%+v", n)
	}
}
