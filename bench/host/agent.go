package host

import (
	"bufio"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// AgentConfig says what an agent is.
type AgentConfig struct {
	// Token must be known to controllers. It may be empty where only this machine can call.
	Token   string
	Version string
	// Command is the command line of a client process.
	Command []string
	// Grace is how long a client process may take to end when its controller is gone; default 30 s.
	Grace time.Duration
	// Log, when not nil, is told what happens.
	Log func(text string)
}

// MinToken is how long a token is at least.
const MinToken = 8

// ErrOpenAgent refuses to serve other hosts without a token (A1).
var ErrOpenAgent = errors.New("an agent without a token takes commands from everybody")

// mostConns bounds the connections of an agent.
const mostConns = 256

// ServeAgent obeys controllers that connect to l, until ctx ends. It closes l.
func ServeAgent(ctx context.Context, l net.Listener, cfg AgentConfig) error {
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	defer func() { _ = l.Close() }()
	if err := cfg.check(l.Addr()); err != nil {
		return err
	}
	cfg.Grace = cmp.Or(cfg.Grace, 30*time.Second)
	if cfg.Log == nil {
		cfg.Log = func(string) {}
	}
	a := &agent{AgentConfig: cfg}
	room := make(chan struct{}, mostConns)
	var conns sync.WaitGroup
	defer conns.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case room <- struct{}{}:
		default:
			_ = conn.Close() // A3
			continue
		}
		conns.Go(func() {
			a.serve(ctx, conn)
			<-room
		})
	}
}

// check refuses to be open to everybody (A1).
func (c *AgentConfig) check(addr net.Addr) error {
	tcp, ok := addr.(*net.TCPAddr)
	switch {
	case c.Token != "" && len(c.Token) < MinToken:
		return fmt.Errorf("%w: a token has %d characters at least", ErrOpenAgent, MinToken)
	case c.Token == "" && (!ok || !tcp.IP.IsLoopback()):
		return fmt.Errorf("%w: to listen at %s it needs a token that its controllers know", ErrOpenAgent, addr)
	}
	return nil
}

// agent is what connections share.
type agent struct {
	AgentConfig
	mu    sync.Mutex
	run   string // that is being worked for; "": none
	conns int    // of that
}

// enter takes a connection into a run (A4).
func (a *agent) enter(run string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.run != "" && a.run != run {
		return errors.New("busy with another controller; try again when that is done")
	}
	a.run = run
	a.conns++
	return nil
}

func (a *agent) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conns--; a.conns == 0 {
		a.run = ""
	}
}

// serve is one connection.
func (a *agent) serve(ctx context.Context, conn net.Conn) {
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	tune(conn)
	from := conn.RemoteAddr()
	in := bufio.NewReader(&bounded{r: conn, most: commandLine})
	_ = conn.SetDeadline(time.Now().Add(shakeTimeout))
	run, err := a.shake(conn, in)
	if err != nil {
		a.Log(fmt.Sprintf("refused %s: %v", from, err))
		return
	}
	defer a.leave()
	_ = conn.SetDeadline(time.Time{})
	a.Log(fmt.Sprintf("client process for %s, run %.8s", from, run))
	if err := a.carry(ctx, conn, in); err != nil {
		a.Log(fmt.Sprintf("client process for %s: %v", from, err))
		return
	}
	a.Log(fmt.Sprintf("done for %s", from))
}

// shake finds out who calls.
func (a *agent) shake(conn io.Writer, in *bufio.Reader) (run string, err error) {
	hi := greeting{Protocol: agentProtocol, Version: a.Version, Nonce: rand.Text()}
	if err := writeLine(conn, hi); err != nil {
		return "", err
	}
	var who hello
	if err := readLine(in, &who); err != nil {
		return "", fmt.Errorf("no hello: %w", err)
	}
	if err := a.judge(&hi, &who); err != nil {
		return "", errors.Join(err, writeLine(conn, verdict{err.Error()}))
	}
	if err := writeLine(conn, verdict{}); err != nil {
		a.leave()
		return "", err
	}
	return who.Run, nil
}

func (a *agent) judge(hi *greeting, who *hello) error {
	proof := prove(a.Token, hi.Nonce, who.Version, who.Run)
	switch {
	case !hmac.Equal([]byte(proof), []byte(who.Proof)):
		return errors.New("wrong token: pass that of the agent with --token or REMORA_BENCH_TOKEN")
	case who.Protocol != agentProtocol || who.Version != a.Version:
		return errors.New(otherVersion(a.Version, who.Version))
	case who.Run == "" || len(who.Run) > longestRun:
		return errors.New("the name of the run is missing")
	}
	return a.enter(who.Run)
}
