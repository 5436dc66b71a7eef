package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/test/cachetest"
	"github.com/remora-kv/remora/test/scale"
)

// textURL is a text address that is free.
const textURL = "text://127.0.0.1:0"

// textClient speaks lines.
type textClient struct {
	net.Conn
	in *bufio.Reader
}

func dialText(t testing.TB, s *server.Server) *textClient {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.TextAddrs()[0], "text://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(cachetest.Watchdog))
	return &textClient{conn, bufio.NewReader(conn)}
}

// say sends a command and returns the first line of its answer.
func (c *textClient) say(format string, args ...any) (string, error) {
	if _, err := fmt.Fprintf(c, format, args...); err != nil {
		return "", err
	}
	line, err := c.in.ReadString('\n')
	return strings.TrimSuffix(line, "\r\n"), err
}

// Do implements cachetest.Cache, for gets, sets and deletes.
func (c *textClient) Do(_ context.Context, call *cachetest.Call) cachetest.Outcome {
	o := cachetest.Outcome{Untold: true}
	format := map[cachetest.Kind]string{cachetest.Get: "GET %s\r\n", cachetest.Delete: "DEL %s\r\n", cachetest.Set: "SET %s {%d}\r\n%s\r\n"}[call.Kind]
	args := []any{call.Key}
	if call.Kind == cachetest.Set {
		args = append(args, len(call.Value), call.Value)
	}
	answer, err := c.say(format, args...)
	if size, found := strings.CutPrefix(answer, "VALUE "); found {
		n, _ := strconv.Atoi(size)
		value := make([]byte, n+2)
		_, err = io.ReadFull(c.in, value)
		o.Value, answer = string(value[:n]), "VALUE"
	}
	switch {
	case err != nil:
		o.Status, o.Text = cachetest.Failed, err.Error()
	case answer == "NOT_FOUND":
		o.Status = cachetest.NotFound
	case answer != map[cachetest.Kind]string{cachetest.Get: "VALUE", cachetest.Delete: "DELETED", cachetest.Set: "STORED"}[call.Kind]:
		o.Status, o.Text = cachetest.Failed, answer
	}
	return o
}

// joinText adds a client that speaks lines.
func (c *crowd) joinText(s *server.Server) {
	client, number := dialText(c.t, s), c.next
	ctx := testContext(c.t)
	c.next++
	c.members = append(c.members, func() {
		random := rand.New(rand.NewPCG(c.seed, uint64(number)))
		for i := range c.each {
			kind := []cachetest.Kind{cachetest.Get, cachetest.Get, cachetest.Set, cachetest.Delete}[random.IntN(4)]
			call := cachetest.Call{Kind: kind, Key: c.keys[random.IntN(len(c.keys))]}
			if kind == cachetest.Set {
				call.Value = fmt.Sprintf("line\r\n%d of %d", i, number)
			}
			n := c.history.Begin(number, &call)
			o := client.Do(ctx, &call)
			c.history.End(n, &o)
		}
	})
}

// What clients of a fabric and those that speak lines see has one order.
func TestTextHistory(t *testing.T) {
	for _, engine := range realEngines {
		t.Run(engine, func(t *testing.T) {
			r := newRig(t, provider.Shm)
			cfg := r.config()
			cfg.Engine, cfg.Cores = engine, 2
			cfg.Listen = append(cfg.Listen, textURL)
			r.start(cfg)
			c := newCrowd(t, 0, scale.Times(150))
			// Lines tell no versions, and on a busy machine all that can be under way is: of
			// many more clients, or fewer keys, an order is hard to find.
			c.keys = []string{"one", "two", "three", "four", "five"}
			shared := r.dial(patient()...)
			c.join(shared)
			c.join(session(t, shared))
			c.joinAhead(session(t, shared, remora.WithWindow(4)), 4)
			for range 3 {
				c.joinText(r.srv)
			}
			c.start()
			c.check(r.dial)
		})
	}
}

// A server may have nothing but a text listener, and it is among its addresses.
func TestTextAlone(t *testing.T) {
	s, err := server.Start(server.Config{Listen: []string{textURL}, Memory: 8 << 20, Cores: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if len(s.Addrs()) != 0 || len(s.TextAddrs()) != 1 {
		t.Fatalf("%v, %v", s.Addrs(), s.TextAddrs())
	}
	c := dialText(t, s)
	for i := range 100 {
		if got, err := c.say("SET k%d v\r\n", i); err != nil || got != "STORED" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	for i := range 100 {
		if got, err := c.say("DEL k%d\r\n", i); err != nil || got != "DELETED" {
			t.Fatalf("%q, %v", got, err)
		}
	}
}

// Statistics tell of text clients.
func TestTextStatistics(t *testing.T) {
	r := newRig(t, provider.Loop)
	cfg := r.config()
	cfg.Listen = append(cfg.Listen, textURL)
	r.start(cfg)
	c := dialText(t, r.srv)
	if got, err := c.say("GET k\r\n"); err != nil || got != "NOT_FOUND" {
		t.Fatalf("%q, %v", got, err)
	}
	docs, err := r.dial().Stats(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	var st server.Stats
	if err := json.Unmarshal(docs[0], &st); err != nil {
		t.Fatal(err)
	}
	if len(st.Text) != 1 || st.Text[0].Clients != 1 || st.Text[0].Commands != 1 || len(st.Listen) != 2 || st.Listen[1] != r.srv.TextAddrs()[0] {
		t.Errorf("%+v, %v", st.Text, st.Listen)
	}
}

// During a drain text clients are told so, nobody comes in, and then it ends.
func TestTextDrain(t *testing.T) {
	s, err := server.Start(server.Config{Listen: []string{textURL}, Memory: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	c := dialText(t, s)
	if got, err := c.say("SET k v\r\n"); err != nil || got != "STORED" {
		t.Fatalf("%q, %v", got, err)
	}
	drained := make(chan error, 1)
	go func() { drained <- s.Drain(testContext(t)) }()
	for {
		got, err := c.say("SET k v\r\n")
		if err != nil {
			break // it has ended
		}
		if got != "STORED" {
			if got != "ERROR the server is shutting down" {
				t.Fatalf("%q", got)
			}
			break
		}
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(s.TextAddrs()[0], "text://")); err == nil {
		t.Error("the listener is open after the end")
	}
	if rest, err := io.ReadAll(c.in); err != nil || len(rest) != 0 {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestTextCannotListen(t *testing.T) {
	s, err := server.Start(server.Config{Listen: []string{textURL}, Memory: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if _, err := server.Start(server.Config{Listen: s.TextAddrs(), Memory: 8 << 20}); err == nil || !strings.Contains(err.Error(), "cannot listen on text://127.0.0.1:") {
		t.Errorf("an address that is taken: %v", err)
	}
	if _, err := server.Start(server.Config{Listen: []string{"text://host"}}); err == nil || !strings.Contains(err.Error(), "write text://host:port") {
		t.Errorf("no port: %v", err)
	}
}

// The limit of clients holds for text, and can be changed.
func TestTextLimit(t *testing.T) {
	s, err := server.Start(server.Config{Listen: []string{textURL}, Memory: 1 << 20, MaxClients: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.SetMaxClients(1); err != nil {
		t.Fatal(err)
	}
	if got, err := dialText(t, s).say("GET k\r\n"); err != nil || got != "NOT_FOUND" {
		t.Errorf("the only client: %q, %v", got, err)
	}
	if got, _ := dialText(t, s).in.ReadString('\n'); !strings.Contains(got, "limit of clients") {
		t.Errorf("a client too many: %q", got)
	}
}
