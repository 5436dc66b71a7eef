package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/test/benchtest"
	"github.com/remora-kv/remora/test/cachetest"
)

// The client processes of the tests.
const (
	roleEcho  = "echo"  // answers every line with itself, until there are no more
	roleBurst = "burst" // dies at the first line
	roleDeaf  = "deaf"  // does not end by itself
	testToken = "a token of the tests"
)

func TestMain(m *testing.M) {
	benchtest.Main(m, benchtest.Roles{
		benchtest.Server: func() error { return obeyWords(context.Background(), os.Stdin, os.Stdout) },
		benchtest.Broken: func() error { return errors.New("no such luck") },
		roleEcho: func() error {
			_, err := io.Copy(os.Stdout, os.Stdin)
			return err
		},
		roleBurst: func() error {
			_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
			return errors.New("no such luck")
		},
		roleDeaf:    func() error { select {} },
		roleHelper:  func() error { return Help(context.Background(), os.Stdin, os.Stdout) },
		rolePressed: pressedForever,
		roleLimited: limitedForever,
	})
}

// start starts an agent whose client processes have a role.
func start(t *testing.T, role string, change func(*AgentConfig)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	argv := benchtest.Self(role)
	cfg := AgentConfig{Version: "v1", Command: argv, Log: func(s string) { t.Log(s) }}
	if change != nil {
		change(&cfg)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- ServeAgent(ctx, l, cfg) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if left := benchtest.Children(os.Getpid(), role); len(left) != 0 {
			t.Errorf("processes %v are left", left)
		}
	})
	return l.Addr().String()
}

func dial(t *testing.T, address string, who Controller) io.ReadWriteCloser {
	t.Helper()
	conn, err := DialAgent(t.Context(), address, who)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// echo sends a line, and expects it back.
func echoLine(t *testing.T, conn io.ReadWriter, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text+"\n"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, len(text)+1)
	if _, err := io.ReadFull(conn, b); err != nil || string(b) != text+"\n" {
		t.Fatalf("%.40q came back as %.40q, %v", text, b, err)
	}
}

// Lines go to the process and back, in as many connections as a run has.
func TestCarry(t *testing.T) {
	address := start(t, roleEcho, func(c *AgentConfig) { c.Token = testToken })
	who := Controller{Token: testToken, Version: "v1", Run: "r"}
	for range 3 {
		conn := dial(t, address, who)
		for _, text := range []string{"one", "", strings.Repeat("x", 100_000)} {
			echoLine(t, conn, text)
		}
	}
}

func TestWhoIsRefused(t *testing.T) {
	address := start(t, roleEcho, func(c *AgentConfig) { c.Token = testToken })
	for want, who := range map[string]Controller{
		"wrong token":       {Token: "another token", Version: "v1", Run: "r"},
		"wrong token: pass": {Version: "v1", Run: "r"},
		`it is of version "v1", the controller of "v2"`: {Token: testToken, Version: "v2", Run: "r"},
		"the name of the run is missing":                {Token: testToken, Version: "v1"},
	} {
		conn, err := DialAgent(t.Context(), address, who)
		if !errors.Is(err, ErrAgentRefuses) || !strings.Contains(err.Error(), want) || conn != nil {
			t.Errorf("%+v: %v", who, err)
		}
	}
	// A controller that does not look at the greeting is refused by the agent.
	for want, spoil := range map[string]func(*hello){
		"use the same program": func(h *hello) { h.Protocol++ },
		"token":                func(h *hello) { h.Proof = prove(testToken, "an old nonce", h.Version, h.Run) },
		"wrong token":          func(h *hello) { h.Run = "another run" },
	} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(conn)
		var hi greeting
		if err := readLine(in, &hi); err != nil {
			t.Fatal(err)
		}
		h := hello{Protocol: agentProtocol, Version: "v1", Run: "r", Proof: prove(testToken, hi.Nonce, "v1", "r")}
		spoil(&h)
		var say verdict
		if err := errors.Join(writeLine(conn, h), readLine(in, &say)); err != nil || !strings.Contains(say.Error, want) {
			t.Errorf("%+v got %+v, %v", h, say, err)
		}
		_ = conn.Close()
	}
	echoLine(t, dial(t, address, Controller{Token: testToken, Version: "v1", Run: "r"}), "still there")
}

// A4: others wait until the run is over.
func TestOneRunAtATime(t *testing.T) {
	address := start(t, roleEcho, nil)
	first := dial(t, address, Controller{Version: "v1", Run: "first"})
	second := dial(t, address, Controller{Version: "v1", Run: "first"})
	if _, err := DialAgent(t.Context(), address, Controller{Version: "v1", Run: "other"}); err == nil || !strings.Contains(err.Error(), "another controller") {
		t.Errorf("a second controller: %v", err)
	}
	_ = first.Close()
	echoLine(t, second, "goes on")
	_ = second.Close()
	for i := range 20 { // who has hung up is gone
		_ = dial(t, address, Controller{Version: "v1", Run: fmt.Sprint("other ", i)}).Close()
	}
}

// A2: a process that dies is told to the controller, and the agent lives.
func TestAProcessThatDies(t *testing.T) {
	address := start(t, roleBurst, nil)
	for range 2 {
		conn := dial(t, address, Controller{Version: "v1", Run: "r"})
		if _, err := io.WriteString(conn, "go\n"); err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(conn)
		if err != nil || !strings.Contains(string(b), "no such luck") || !strings.Contains(string(b), `"Error"`) {
			t.Errorf("%q, %v", b, err)
		}
	}
	address = start(t, roleEcho, func(c *AgentConfig) { c.Command = []string{"/nowhere/at/all"} })
	b, err := io.ReadAll(dial(t, address, Controller{Version: "v1", Run: "r"}))
	if err != nil || !strings.Contains(string(b), "cannot start") {
		t.Errorf("%q, %v", b, err)
	}
}

// A2: the controller hears it also when it had more to say.
func TestAProcessThatDiesAmongCommands(t *testing.T) {
	address := start(t, roleBurst, nil)
	for range 20 {
		conn := dial(t, address, Controller{Version: "v1", Run: "r"})
		talked := make(chan struct{})
		go func() {
			defer close(talked)
			for {
				if _, err := io.WriteString(conn, "go\n"); err != nil {
					return
				}
			}
		}()
		text, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil || !strings.Contains(text, "no such luck") {
			t.Errorf("%q, %v", text, err)
		}
		_ = conn.Close()
		<-talked
	}
}

// A5: a process that does not listen is killed when its controller is gone, and so is free for others.
func TestADeafProcess(t *testing.T) {
	address := start(t, roleDeaf, func(c *AgentConfig) { c.Grace = 100 * time.Millisecond })
	_ = dial(t, address, Controller{Version: "v1", Run: "first"}).Close()
	cachetest.Await(t, "the agent to be free", func() bool {
		conn, err := DialAgent(t.Context(), address, Controller{Version: "v1", Run: "other"})
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

// A3: whatever comes instead of a handshake or a command ends that connection and no more.
func TestHostileControllers(t *testing.T) {
	address := start(t, roleEcho, nil)
	for name, text := range map[string]string{
		"nothing": "", "HTTP": "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "no JSON": "{\n", "a number": "7\n", "null": "null\n",
		"a long line": strings.Repeat("x", 3*shakeLine), "deep": strings.Repeat("[", shakeLine-1) + "\n",
	} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
		b, _ := io.ReadAll(conn) // reset where it was sent more than was read
		if strings.Contains(string(b), `{"Error":""}`) {
			t.Errorf("%s was let in: %q", name, b)
		}
		_ = conn.Close()
	}
	conn := dial(t, address, Controller{Version: "v1", Run: "r"})
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	line := []byte(strings.Repeat("x", 64<<10))
	for sent := 0; sent < 4*commandLine; sent += len(line) {
		if _, err := conn.Write(line); err != nil {
			break
		}
	}
	cachetest.Await(t, "the endless line to be ended", func() bool {
		other, err := DialAgent(t.Context(), address, Controller{Version: "v1", Run: "other"})
		if err == nil {
			_ = other.Close()
		}
		return err == nil
	})
}

// A1.
func TestAnOpenAgentIsRefused(t *testing.T) {
	for _, tc := range []struct{ address, token, want string }{
		{"0.0.0.0:0", "", "needs a token"},
		{"[::]:0", "", "needs a token"},
		{"127.0.0.1:0", "short", fmt.Sprint(MinToken)},
	} {
		l, err := net.Listen("tcp", tc.address)
		if err != nil && strings.HasPrefix(tc.address, "[") {
			continue // a host without IPv6
		} else if err != nil {
			t.Fatal(err)
		}
		if err := ServeAgent(t.Context(), l, AgentConfig{Token: tc.token}); !errors.Is(err, ErrOpenAgent) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v", tc, err)
		}
		if _, err := net.DialTimeout("tcp", l.Addr().String(), time.Second); err == nil {
			t.Errorf("%+v: somebody listens", tc)
		}
	}
}

// What is no agent is not taken for one.
func TestDialOfOthers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "220 mail.example.com\r\n")
			_ = conn.Close()
		}
	}()
	if _, err := DialAgent(t.Context(), l.Addr().String(), Controller{}); err == nil || !strings.Contains(err.Error(), "not a remora bench agent") {
		t.Errorf("%v", err)
	}
	_ = l.Close()
	if _, err := DialAgent(t.Context(), l.Addr().String(), Controller{}); err == nil || !strings.Contains(err.Error(), "remora bench agent") {
		t.Errorf("%v", err)
	}
}
