package text

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/test/cachetest"
)

// wall is the clock of the machine.
type wall struct{}

func (wall) Now() int64 { return cachetest.Now() }

// rig is a listener with cores that have maps for partitions.
type rig struct {
	t        testing.TB
	listener *Listener
	addr     string
	log      *cachetest.Log
	cores    []*fakeCore
	slow     sync.Mutex // stops all cores while it is locked
}

// fakeCore serves one mailbox, and sleeps when there is no work.
type fakeCore struct {
	rig    *rig
	index  int
	items  map[string]string
	poller rpc.Poller
	wake   chan struct{}
	stop   atomic.Bool
	done   chan struct{}
}

func (c *fakeCore) run() {
	defer close(c.done)
	for !c.stop.Load() {
		if c.poller.Step() {
			continue
		}
		c.poller.BeforeSleep()
		if !c.poller.Pending() && !c.stop.Load() {
			<-c.wake
		}
		c.poller.AfterSleep()
	}
}

func (c *fakeCore) rouse() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (r *rig) serve(call *rpc.Call, msg, out []byte) ([]byte, error) {
	r.slow.Lock()
	defer r.slow.Unlock()
	c := r.cores[call.Core]
	arg := msg[rpc.ProcSize:]
	switch proc := command.Proc(binary.LittleEndian.Uint16(msg)); proc {
	case command.Get:
		v, ok := c.items[string(arg)]
		if !ok {
			return command.AppendStatus(out, command.NotFound), nil
		}
		return command.AppendTrailer(append(out, v...), 7, 0, uint32(len(v)%2)), nil
	case command.Put:
		p, err := command.ParsePut(arg)
		switch {
		case err != nil:
			return out, err
		case string(p.Key) == "fails":
			return out, fmt.Errorf("rejected by the handler")
		case string(p.Key) == "full":
			return command.AppendStatus(out, command.Full), nil
		}
		c.items[string(p.Key)] = string(p.Value)
		return command.AppendStored(out, 7), nil
	case command.Delete:
		key, _, err := command.ParseDelete(arg)
		if err != nil {
			return out, err
		}
		if _, ok := c.items[string(key)]; !ok {
			return command.AppendStatus(out, command.NotFound), nil
		}
		delete(c.items, string(key))
		return command.AppendStatus(out, command.OK), nil
	default:
		return out, fmt.Errorf("procedure %v", proc)
	}
}

// open starts a listener with n cores.
func open(t testing.TB, cores int, change func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t, log: &cachetest.Log{}}
	cfg := Config{
		Cores: cores, Serve: r.serve, Clock: wall{}, Wake: func(core int) { r.cores[core].rouse() }, Seed: 5,
		MaxValue: 1 << 20, MaxClients: 1000, Log: slog.New(slog.NewTextHandler(r.log, nil)),
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	if r.listener, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	for i := range cores {
		c := &fakeCore{rig: r, index: i, items: map[string]string{}, poller: r.listener.Poller(i), wake: make(chan struct{}, 1), done: make(chan struct{})}
		r.cores = append(r.cores, c)
	}
	for _, c := range r.cores {
		go c.run()
	}
	if r.addr, err = r.listener.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	return r
}

func (r *rig) close() {
	if err := r.listener.Close(); err != nil {
		r.t.Error(err)
	}
	for _, c := range r.cores {
		c.stop.Store(true)
		c.rouse()
		<-c.done
	}
}

// client is a connection of a test.
type client struct {
	net.Conn
	t   testing.TB
	buf *bufio.Reader
}

func (r *rig) dial() *client {
	r.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(r.addr, Scheme+"://"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(cachetest.Watchdog))
	return &client{c, r.t, bufio.NewReader(c)}
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
}

// expect reads as many bytes as want has, and compares them.
func (c *client) expect(want string) {
	c.t.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(c.buf, got)
	if err != nil || string(got) != want {
		c.t.Fatalf("got %.200q, want %.200q: %v", got[:n], want, err)
	}
}

// line reads a line.
func (c *client) line() string {
	c.t.Helper()
	line, err := c.buf.ReadString('\n')
	if err != nil {
		c.t.Fatalf("%q, %v", line, err)
	}
	return line
}

// end checks that the connection ends without further bytes.
func (c *client) end() {
	c.t.Helper()
	if rest, err := io.ReadAll(c.buf); err != nil || len(rest) != 0 {
		c.t.Fatalf("%q, %v", rest, err)
	}
}
