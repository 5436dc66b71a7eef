package onesided_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc/onesided"
	"github.com/remora-kv/remora/test/scale"
)

// password is the private data of clients that are accepted.
const password = "let me in"

// readerRig is an acceptor of reader connections, and memory that clients can READ.
type readerRig struct {
	*rig
	domain   fabric.Domain
	memory   *fabric.Region
	acceptor *onesided.Acceptor
}

// eachReaderFabric runs f on every fabric that counts what clients do.
func eachReaderFabric(t *testing.T, f func(t *testing.T, r *readerRig)) {
	for _, name := range scale.Fabrics() {
		t.Run(name, func(t *testing.T) { f(t, newReaderRig(t, name, onesided.AcceptorConfig{MaxClients: 2})) })
	}
}

func newReaderRig(t *testing.T, name string, cfg onesided.AcceptorConfig) *readerRig {
	t.Helper()
	r := &readerRig{rig: newRig(t, name)}
	var err error
	if r.domain, err = r.Device.NewDomain(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.domain.Close() })
	if r.memory, err = r.domain.Alloc("readable", 4096, fabric.RemoteRead); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.memory.Close() })
	for i := range r.memory.Bytes() {
		r.memory.Bytes()[i] = byte(i * 7)
	}
	cfg.Path, cfg.Domain, cfg.Log = "test", r.domain, slog.New(slog.DiscardHandler)
	if cfg.Device == nil {
		cfg.Device = r.Device
	}
	cfg.Hello = func(private []byte) error {
		if !bytes.HasPrefix(private, []byte(password)) {
			return errors.New("that is not the password")
		}
		return nil
	}
	if cfg.Welcome == nil {
		cfg.Welcome = func() ([]byte, error) { return []byte("welcome"), nil }
	}
	r.acceptor = onesided.NewAcceptor(cfg)
	t.Cleanup(r.acceptor.Close)
	r.listen()
	return r
}

// listen admits all clients.
func (r *readerRig) listen() {
	r.Helper()
	l, err := r.Device.Listen(r.Listen, fabric.ListenConfig{})
	if err != nil {
		r.Fatal(err)
	}
	r.Addr = l.Addr()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			req, err := l.Accept(context.Background())
			if err != nil {
				return
			}
			r.acceptor.Admit(r.Device, req)
		}
	}()
	r.Cleanup(func() { _ = l.Close(); <-done })
}

func (r *readerRig) ctx() context.Context {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	r.Cleanup(cancel)
	return ctx
}

func (r *readerRig) tryReader(hello string) (*onesided.ReaderConn, error) {
	c, err := onesided.DialReader(r.ctx(), r.Addr, onesided.ReaderConfig{Device: r.NewDevice(), Depth: 4, Hello: []byte(hello)})
	if err == nil {
		r.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}

// reader is tryReader that succeeds.
func (r *readerRig) reader() *onesided.ReaderConn {
	r.Helper()
	c, err := r.tryReader(password)
	if err != nil {
		r.Fatal(err)
	}
	return c
}

// await waits until f is true of the counts.
func (r *readerRig) await(what string, f func(st onesided.Stats) bool) {
	r.Helper()
	r.eventually(what, func() bool { return f(r.acceptor.Stats()) })
}

// A client gets the welcome and reads the memory, and its READs are counted, also after it has left.
func TestReader(t *testing.T) {
	eachReaderFabric(t, func(t *testing.T, r *readerRig) {
		l := r.reader()
		if got := string(l.QP.PeerPrivate()); got != "welcome" {
			t.Errorf("the welcome is %q", got)
		}
		from := r.memory.Remote()
		from.Addr += 100
		for range 3 {
			got, err := l.Fetch(r.ctx(), from, 1000)
			if err != nil || !bytes.Equal(got, r.memory.Bytes()[100:1100]) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
		}
		r.await("the client is counted", func(st onesided.Stats) bool { // it may read before Admit returns
			return st.Clients == 1 && st.Connects == 1 && st.Refused == 0 && st.In.In[fabric.OpRead] == 3
		})
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Errorf("a second Close: %v", err)
		}
		r.await("the room is given back", func(st onesided.Stats) bool { return st.Clients == 0 })
		if st := r.acceptor.Stats(); st.In.In[fabric.OpRead] != 3 || st.In.InBytes != 3000 {
			t.Errorf("READs are forgotten: %+v", st)
		}
	})
}

// A client that is refused gets the reason, and takes no room.
func TestReaderRefusals(t *testing.T) {
	eachReaderFabric(t, func(t *testing.T, r *readerRig) {
		refused := uint64(0)
		check := func(hello, why string) {
			t.Helper()
			if _, err := r.tryReader(hello); err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%v, want %q", err, why)
			}
			refused++
			if st := r.acceptor.Stats(); st.Refused != refused {
				t.Errorf("%d were refused, want %d", st.Refused, refused)
			}
		}
		check("hello?", "not the password")
		first := r.reader()
		r.reader()
		check(password, "there are 2 clients already")
		_ = first.Close()
		r.await("there is room (O7)", func(st onesided.Stats) bool { return st.Clients == 1 })
		r.reader()
		r.acceptor.Close()
		check(password, "server closed")
	})
}

func TestReaderRefusedByWelcome(t *testing.T) {
	r := newReaderRig(t, provider.Loop, onesided.AcceptorConfig{MaxClients: 1, Welcome: func() ([]byte, error) {
		return nil, errors.New("not today")
	}})
	if _, err := r.tryReader(password); err == nil || !strings.Contains(err.Error(), "not today") {
		t.Error(err)
	}
}

// The memory is on one device; a client of another is refused.
func TestReaderOnAnotherDevice(t *testing.T) {
	other, err := provider.New().Open(provider.TCP)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	r := newReaderRig(t, provider.Loop, onesided.AcceptorConfig{MaxClients: 1, Device: other})
	if _, err := r.tryReader(password); err == nil || !strings.Contains(err.Error(), "available on tcp only") {
		t.Error(err)
	}
}

// An acceptor that closes ends all connections, and wakes the clients that wait (O7, O8).
func TestAcceptorCloses(t *testing.T) {
	eachReaderFabric(t, func(t *testing.T, r *readerRig) {
		readers := []*onesided.ReaderConn{r.reader(), r.reader()}
		ended := make(chan error, len(readers))
		for _, l := range readers {
			go func() {
				var comps [1]fabric.Completion
				n := 0
				for end := time.Now().Add(patience); n == 0 && time.Now().Before(end); {
					l.Waiter.Wait(func() bool { n = l.CQ.Poll(comps[:]); return n != 0 }, patience)
				}
				switch {
				case n == 0:
					ended <- errors.New("the client was not woken")
				case comps[0].ID != onesided.EndID || l.Reason(&comps[0]) == nil:
					ended <- fmt.Errorf("completion %+v, %w", comps[0], l.Reason(&comps[0]))
				default:
					ended <- nil
				}
			}()
		}
		r.acceptor.Close()
		if st := r.acceptor.Stats(); st.Clients != 0 || st.Connects != 2 {
			t.Errorf("%+v", st)
		}
		for range readers {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		r.acceptor.Close() // again
	})
}

// A client can read the memory of the domain, and nothing else.
func TestReaderReadsNothingElse(t *testing.T) {
	eachReaderFabric(t, func(t *testing.T, r *readerRig) {
		elsewhere, err := r.Device.NewDomain()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = elsewhere.Close() })
		secret, err := elsewhere.Alloc("secret", 64, fabric.RemoteRead)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = secret.Close() })
		behind := r.memory.Remote()
		behind.Addr += 4096 - 32
		for what, from := range map[string]fabric.Remote{"another domain": secret.Remote(), "behind the end": behind} {
			l := r.reader()
			if got, err := l.Fetch(r.ctx(), from, 64); err == nil {
				t.Errorf("%s: %x", what, got)
			}
			if _, err := l.Fetch(r.ctx(), r.memory.Remote(), 8); err == nil {
				t.Errorf("%s: the connection is good after an error", what)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			r.await("the room is given back (O7)", func(st onesided.Stats) bool { return st.Clients == 0 })
		}
	})
}

func TestDialReaderWithoutAcceptor(t *testing.T) {
	r := newReaderRig(t, provider.Loop, onesided.AcceptorConfig{MaxClients: 1})
	_, err := onesided.DialReader(r.ctx(), fabric.Addr{Fabric: provider.Loop, Name: "nobody"}, onesided.ReaderConfig{Device: r.NewDevice(), Depth: 1})
	if err == nil {
		t.Error("connected without an acceptor")
	}
}
