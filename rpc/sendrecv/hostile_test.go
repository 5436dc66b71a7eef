package sendrecv_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/sendrecv"
)

// raw is a client without manners: it has a queue pair, and sends what it likes.
type raw struct {
	t   testing.TB
	dom fabric.Domain
	cq  fabric.CQ
	qp  fabric.QP
	mem *fabric.Region
	off int
	ok  int // operations that completed
}

const rawWindow = 2

// dialRaw connects with any greeting, and posts so many receives.
func (r *rig) dialRaw(greeting []byte, receives int) (*raw, error) {
	r.Helper()
	dev := r.NewDevice()
	c := &raw{t: r.TB}
	var err error
	if c.dom, err = dev.NewDomain(); err == nil {
		c.mem, err = c.dom.Alloc("raw", 1<<16, 0)
	}
	if err == nil {
		c.cq, err = dev.NewCQ(128)
	}
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c.qp, err = dev.Dial(ctx, r.Addr, fabric.QPConfig{
		Domain: c.dom, SendCQ: c.cq, RecvCQ: c.cq, SendDepth: 64, RecvDepth: 64, RNRTimeout: fabric.RNRForever,
	}, greeting)
	if err != nil {
		return nil, err
	}
	r.Cleanup(func() { _ = c.qp.Close() })
	for range receives {
		if _, err := c.qp.PostRecv([]fabric.RecvWR{{Local: c.mem.Seg(1<<15, 1<<15)}}); err != nil {
			r.Fatal(err)
		}
	}
	return c, nil
}

// post posts an operation with any bytes.
func (c *raw) post(op fabric.Op, b []byte) {
	c.t.Helper()
	copy(c.mem.Bytes()[c.off:], b)
	wr := fabric.WR{Op: op, Flags: fabric.FlagSignaled, Local: c.mem.Seg(c.off, len(b))}
	c.off += len(b)
	if _, err := c.qp.Post([]fabric.WR{wr}); err != nil {
		c.t.Fatal(err)
	}
}

// poll takes completions, and reports whether the queue pair is broken.
func (c *raw) poll() bool {
	var comps [16]fabric.Completion
	for i := range c.cq.Poll(comps[:]) {
		if comps[i].Status == fabric.StatusOK && comps[i].Op != fabric.OpRecv {
			c.ok++
		}
	}
	return c.qp.State() == fabric.StateError
}

func (c *raw) request(number uint32, arg []byte) {
	c.t.Helper()
	c.post(fabric.OpSend, sendrecv.AppendMessage(nil, number, sendrecv.KindRequest, request(procEcho, arg)))
}

// logbook keeps what was logged.
type logbook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logbook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logbook) says(s string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.buf.String(), s)
}

func (l *logbook) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// What a client must not do ends it and nobody else, with a reason (S8).
func TestBadClientsAreCutOff(t *testing.T) {
	message := func(number uint32, kind uint8, n int) []byte {
		return sendrecv.AppendMessage(nil, number, kind, make([]byte, n))
	}
	for name, p := range map[string]struct {
		harm   func(c *raw)
		reason string
	}{
		"nothing":     {func(c *raw) { c.post(fabric.OpSend, nil) }, "0 bytes that are not request 1"},
		"short":       {func(c *raw) { c.post(fabric.OpSend, []byte("short")) }, "5 bytes that are not request 1"},
		"kind":        {func(c *raw) { c.post(fabric.OpSend, message(1, sendrecv.KindResult, 8)) }, "not request 1"},
		"no kind":     {func(c *raw) { c.post(fabric.OpSend, message(1, 0, 8)) }, "not request 1"},
		"reserved":    {func(c *raw) { c.post(fabric.OpSend, []byte{1, 0, 0, 0, 1, 0, 0, 9, 1, 0}) }, "not request 1"},
		"number":      {func(c *raw) { c.post(fabric.OpSend, message(2, sendrecv.KindRequest, 8)) }, "not request 1"},
		"twice":       {func(c *raw) { c.request(1, nil); c.request(1, nil) }, "not request 2"},
		"too long":    {func(c *raw) { c.post(fabric.OpSend, message(1, sendrecv.KindRequest, 65)) }, "longer than agreed"},
		"a WRITE":     {func(c *raw) { c.post(fabric.OpWriteImm, nil) }, "a WRITE"},
		"no receives": {func(c *raw) { c.request(1, nil); c.request(2, nil) }, "no receive for a reply"},
	} {
		t.Run(name, func(t *testing.T) {
			eachFabric(t, func(t *testing.T, r *rig) {
				var log logbook
				s := r.serve(sendrecv.ServerConfig{Log: log.logger(), ReceiveWait: 100 * time.Millisecond})
				good := r.dial(sendrecv.ConnConfig{})
				receives := 16
				if name == "no receives" {
					receives = 1 // for ready
				}
				bad, err := r.dialRaw(sendrecv.AppendHello(nil, 0, rawWindow, 64), receives)
				if err != nil {
					t.Fatal(err)
				}
				p.harm(bad)
				await(t, "the end of the client", func() bool { return bad.poll() })
				await(t, "its place", func() bool { return s.Stats().Clients == 1 })
				if st := s.Stats(); st.Cut != 1 || st.Lost != 0 || !log.says(p.reason) {
					t.Errorf("%+v\n%s", st, &log.buf)
				}
				if got, err := call(good, procEcho, []byte("x")); err != nil || string(got) != "x" {
					t.Errorf("another client: %q, %v", got, err)
				}
			})
		})
	}
}

// More requests than the window, while the core has something else to do.
func TestFloodIsCutOff(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		hold, entered := make(chan struct{}), make(chan struct{})
		r.Mux.Handle(99, func(_ *rpc.Call, out []byte) ([]byte, error) {
			close(entered)
			<-hold
			return append(out, "through"...), nil
		})
		var log logbook
		s := r.serve(sendrecv.ServerConfig{Log: log.logger()})
		good := r.dial(sendrecv.ConnConfig{})
		bad, err := r.dialRaw(sendrecv.AppendHello(nil, 0, rawWindow, 64), 16)
		if err != nil {
			t.Fatal(err)
		}
		await(t, "ready", func() bool { return !bad.poll() && s.Stats().Connects == 2 })
		if err := good.Send(request(99, nil)); err != nil {
			t.Fatal(err)
		}
		await(t, "the core to be busy", func() bool {
			good.Poll()
			select {
			case <-entered:
				return true
			default:
				return false
			}
		})
		for n := range uint32(rawWindow + 3) {
			bad.request(n+1, nil)
		}
		await(t, "more requests than the window at the server", func() bool { bad.poll(); return bad.ok > rawWindow })
		close(hold)
		await(t, "the end of the client", func() bool { return bad.poll() })
		await(t, "its place", func() bool { return s.Stats().Clients == 1 })
		if st := s.Stats(); st.Cut != 1 || !log.says("more requests than its window of 2") {
			t.Errorf("%+v\n%s", st, &log.buf)
		}
		if !good.Wait(patience) || good.Err() != nil {
			t.Error(good.Err())
		}
		if got, err, ok := good.Next(); !ok || err != nil || string(got) != "through" {
			t.Errorf("another client: %q, %v", got, err)
		}
	})
}

// A client that takes no replies stalls when the send queue is full of them (S7), and what
// it sends beyond its window then ends it. Nobody waits for it meanwhile.
func TestStalledClientIsCutOff(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		var log logbook
		s := r.serve(sendrecv.ServerConfig{Log: log.logger(), ReceiveWait: patience})
		good := r.dial(sendrecv.ConnConfig{})
		bad, err := r.dialRaw(sendrecv.AppendHello(nil, 0, rawWindow, 64), 1) // for ready
		if err != nil {
			t.Fatal(err)
		}
		sent := uint32(0)
		await(t, "the client to stall", func() bool {
			bad.poll()
			if s.Stats().Calls == uint64(sent) {
				sent++
				bad.request(sent, nil)
			}
			return s.Stats().Stalls != 0
		})
		if got, err := call(good, procEcho, []byte("on")); err != nil || string(got) != "on" {
			t.Errorf("another client: %q, %v", got, err)
		}
		for n := range uint32(rawWindow) {
			bad.request(sent+n+1, nil)
		}
		await(t, "the end of the client", func() bool { return bad.poll() })
		await(t, "its place", func() bool { return s.Stats().Clients == 1 })
		if st := s.Stats(); st.Cut != 1 || !log.says("more requests than its window of 2") {
			t.Errorf("%+v\n%s", st, &log.buf)
		}
	})
}

// Greetings that are none are refused, and the reason travels.
func TestBadGreetings(t *testing.T) {
	good := sendrecv.AppendHello(nil, 0, 4, 64)
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.serve(sendrecv.ServerConfig{})
		for _, p := range []struct {
			greeting []byte
			says     string
		}{
			{nil, "does not speak this protocol"},
			{[]byte("hello, I would like to connect"), "does not speak this protocol"},
			{append([]byte{good[0], good[1], 9}, good[3:]...), "speaks version 9"},
			{good[:sendrecv.HelloSize-1], "greeting of 11 bytes"},
			{sendrecv.AppendHello(nil, 7, 4, 64), "core 7 wanted, there are 1"},
			{sendrecv.AppendHello(nil, 0, 0, 64), "window 0"},
			{sendrecv.AppendHello(nil, 0, 4, 63), "messages up to 63 bytes"},
		} {
			_, err := r.dialRaw(p.greeting, 0)
			var rejected *fabric.RejectedError
			if !errors.As(err, &rejected) || !strings.Contains(string(rejected.Private), p.says) {
				t.Errorf("%q: %v, should say %q", p.greeting, err, p.says)
			}
		}
		if st := s.Stats(); st.Clients != 0 || st.Connects != 0 || st.Memory != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// What a server must not do ends the connection with rpc.ErrProtocol, and costs nothing
// else.
func TestBadServers(t *testing.T) {
	message := sendrecv.AppendMessage
	for name, replies := range map[string][][]byte{
		"no ready":      {message(nil, 1, sendrecv.KindResult, nil)},
		"short ready":   {{1, 2, 3}},
		"two ready":     {message(nil, 0, sendrecv.KindReady, nil), message(nil, 0, sendrecv.KindReady, nil)},
		"another":       {message(nil, 0, sendrecv.KindReady, nil), message(nil, 2, sendrecv.KindResult, nil)},
		"request":       {message(nil, 0, sendrecv.KindReady, nil), message(nil, 1, sendrecv.KindRequest, nil)},
		"nothing":       {message(nil, 0, sendrecv.KindReady, nil), nil},
		"too many":      {message(nil, 0, sendrecv.KindReady, nil), message(nil, 1, sendrecv.KindResult, nil), message(nil, 2, sendrecv.KindResult, nil)},
		"other welcome": nil,
	} {
		t.Run(name, func(t *testing.T) {
			eachFabric(t, func(t *testing.T, r *rig) {
				w := sendrecv.WelcomeOf(0, 1, 4, 1024)
				if name == "other welcome" {
					w = sendrecv.WelcomeOf(1, 1, 4, 1024)
				}
				r.serveRaw(w, replies)
				c, err := r.tryDial(sendrecv.ConnConfig{})
				if err == nil {
					defer func() { _ = c.Close() }()
					err = c.Send(request(procEcho, nil))
					await(t, "the end", func() bool { c.Poll(); return c.Err() != nil || err != nil })
					err = errors.Join(err, c.Err())
				}
				if !errors.Is(err, rpc.ErrProtocol) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// serveRaw accepts one client and sends it what is given.
func (r *rig) serveRaw(welcome []byte, messages [][]byte) {
	r.Helper()
	dev := r.NewDevice()
	l, err := dev.Listen(r.Listen, fabric.ListenConfig{})
	if err != nil {
		r.Fatal(err)
	}
	r.Addr = l.Addr()
	done, stop := make(chan struct{}), make(chan struct{})
	r.Cleanup(func() { close(stop); _ = l.Close(); <-done })
	go func() {
		defer close(done)
		req, err := l.Accept(context.Background())
		if err != nil {
			return
		}
		dom, _ := dev.NewDomain()
		mem, _ := dom.Alloc("raw", 1<<16, 0)
		cq, _ := dev.NewCQ(128)
		qp, err := req.Accept(context.Background(), fabric.QPConfig{
			Domain: dom, SendCQ: cq, RecvCQ: cq, SendDepth: 16, RecvDepth: 16, RNRTimeout: fabric.RNRForever,
		}, welcome)
		if err != nil {
			r.Error(err)
			return
		}
		defer func() { _ = qp.Close() }()
		for range 8 {
			_, _ = qp.PostRecv([]fabric.RecvWR{{Local: mem.Seg(1<<15, 1<<15)}})
		}
		var comps [8]fabric.Completion
		for i, m := range messages {
			if i == 1 {
				awaitRequest(cq, stop)
			}
			copy(mem.Bytes()[i*64:], m)
			_, _ = qp.Post([]fabric.WR{{Op: fabric.OpSend, Local: mem.Seg(i*64, len(m))}})
		}
		for {
			select {
			case <-stop:
				return
			default:
				cq.Poll(comps[:])
			}
		}
	}()
}

// awaitRequest polls until a request has come.
func awaitRequest(cq fabric.CQ, stop chan struct{}) {
	var comps [8]fabric.Completion
	for {
		for i := range cq.Poll(comps[:]) {
			if comps[i].Op == fabric.OpRecv {
				return
			}
		}
		select {
		case <-stop:
			return
		default:
		}
	}
}
