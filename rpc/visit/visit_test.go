package visit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc/visit"
	"github.com/remora-kv/remora/test/scale"
)

var fabrics = scale.Fabrics()

// patience is how long tests wait for what must come.
const patience = time.Minute

// password is what a visitor has to say.
const password = "let me in"

// rig is a hall that visitors come to, and memory that they can read.
type rig struct {
	*testing.T
	set    *provider.Set
	fabric string
	device fabric.Device
	domain fabric.Domain
	memory *fabric.Region
	hall   *visit.Hall
	addr   fabric.Addr
}

func eachFabric(t *testing.T, f func(t *testing.T, r *rig)) {
	for _, name := range fabrics {
		t.Run(name, func(t *testing.T) { f(t, newRig(t, name, visit.HallConfig{MaxClients: 2})) })
	}
}

func newRig(t *testing.T, name string, cfg visit.HallConfig) *rig {
	t.Helper()
	r := &rig{T: t, set: provider.New(), fabric: name}
	r.device = r.newDevice()
	var err error
	if r.domain, err = r.device.NewDomain(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.domain.Close() })
	if r.memory, err = r.domain.Alloc("shown", 4096, fabric.RemoteRead); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.memory.Close() })
	for i := range r.memory.Bytes() {
		r.memory.Bytes()[i] = byte(i * 7)
	}
	cfg.Path, cfg.Domain, cfg.Log = "test", r.domain, slog.New(slog.DiscardHandler)
	if cfg.Device == nil {
		cfg.Device = r.device
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
	r.hall = visit.NewHall(cfg)
	t.Cleanup(r.hall.Close)
	r.listen()
	return r
}

func (r *rig) newDevice() fabric.Device {
	r.Helper()
	d, err := r.set.Open(r.fabric)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = d.Close() })
	return d
}

// listen admits whoever comes.
func (r *rig) listen() {
	r.Helper()
	l, err := r.device.Listen(map[string]fabric.Addr{
		provider.Loop: {Fabric: provider.Loop, Name: "hall"},
		provider.Shm:  {Fabric: provider.Shm, Name: filepath.Join(r.TempDir(), "s")},
		provider.TCP:  {Fabric: provider.TCP, Name: "127.0.0.1:0"},
	}[r.fabric], fabric.ListenConfig{})
	if err != nil {
		r.Fatal(err)
	}
	r.addr = l.Addr()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			req, err := l.Accept(context.Background())
			if err != nil {
				return
			}
			r.hall.Admit(r.device, req)
		}
	}()
	r.Cleanup(func() { _ = l.Close(); <-done })
}

func (r *rig) ctx() context.Context {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	r.Cleanup(cancel)
	return ctx
}

func (r *rig) dial(hello string) (*visit.Line, error) {
	l, err := visit.Dial(r.ctx(), r.addr, visit.LineConfig{Device: r.newDevice(), Depth: 4, Hello: []byte(hello)})
	if err == nil {
		r.Cleanup(func() { _ = l.Close() })
	}
	return l, err
}

// visitor is dial that succeeds.
func (r *rig) visitor() *visit.Line {
	r.Helper()
	l, err := r.dial(password)
	if err != nil {
		r.Fatal(err)
	}
	return l
}

// eventually waits until f is true.
func (r *rig) eventually(what string, f func(st visit.Stats) bool) {
	r.Helper()
	for end := time.Now().Add(patience); !f(r.hall.Stats()); <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			r.Fatalf("%s: not after %v: %+v", what, patience, r.hall.Stats())
		}
	}
}

// A visitor is told the welcome, reads what is shown, and is counted, also after it has left.
func TestVisit(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		l := r.visitor()
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
		r.eventually("the visitor is counted", func(st visit.Stats) bool { // it may read before Admit returns
			return st.Clients == 1 && st.Connects == 1 && st.Refused == 0 && st.In.In[fabric.OpRead] == 3
		})
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Errorf("a second Close: %v", err)
		}
		r.eventually("the place is given back", func(st visit.Stats) bool { return st.Clients == 0 })
		if st := r.hall.Stats(); st.In.In[fabric.OpRead] != 3 || st.In.InBytes != 3000 {
			t.Errorf("what a visitor did is forgotten: %+v", st)
		}
	})
}

// Who is refused is told why, and takes no place.
func TestRefusals(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		refused := uint64(0)
		check := func(hello, why string) {
			t.Helper()
			if _, err := r.dial(hello); err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%v, want %q", err, why)
			}
			refused++
			if st := r.hall.Stats(); st.Refused != refused {
				t.Errorf("%d were refused, want %d", st.Refused, refused)
			}
		}
		check("hello?", "not the password")
		first := r.visitor()
		r.visitor()
		check(password, "there are 2 clients already")
		_ = first.Close()
		r.eventually("a place is free (V2)", func(st visit.Stats) bool { return st.Clients == 1 })
		r.visitor()
		r.hall.Close()
		check(password, "the server ends")
	})
}

func TestRefusalByWelcome(t *testing.T) {
	r := newRig(t, provider.Loop, visit.HallConfig{MaxClients: 1, Welcome: func() ([]byte, error) {
		return nil, errors.New("not today")
	}})
	if _, err := r.dial(password); err == nil || !strings.Contains(err.Error(), "not today") {
		t.Error(err)
	}
}

// What is to be read is on one device; who comes on another is told so.
func TestAnotherDevice(t *testing.T) {
	other, err := provider.New().Open(provider.TCP)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	r := newRig(t, provider.Loop, visit.HallConfig{MaxClients: 1, Device: other})
	if _, err := r.dial(password); err == nil || !strings.Contains(err.Error(), "can be read on tcp alone") {
		t.Error(err)
	}
}

// A hall that closes sends everybody away, and who waits is woken (V3, V4).
func TestHallCloses(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		lines := []*visit.Line{r.visitor(), r.visitor()}
		ended := make(chan error, len(lines))
		for _, l := range lines {
			go func() {
				var comps [1]fabric.Completion
				n := 0
				for end := time.Now().Add(patience); n == 0 && time.Now().Before(end); {
					l.Waiter.Wait(func() bool { n = l.CQ.Poll(comps[:]); return n != 0 }, patience)
				}
				switch {
				case n == 0:
					ended <- errors.New("nobody was woken")
				case comps[0].ID != visit.EndID || l.Broken(&comps[0]) == nil:
					ended <- fmt.Errorf("completion %+v, %w", comps[0], l.Broken(&comps[0]))
				default:
					ended <- nil
				}
			}()
		}
		r.hall.Close()
		if st := r.hall.Stats(); st.Clients != 0 || st.Connects != 2 {
			t.Errorf("%+v", st)
		}
		for range lines {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		r.hall.Close() // again
	})
}

// A visitor reads what is shown to it, and nothing else.
func TestNothingElseIsRead(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		elsewhere, err := r.device.NewDomain()
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
			l := r.visitor()
			if got, err := l.Fetch(r.ctx(), from, 64); err == nil {
				t.Errorf("%s: %x", what, got)
			}
			if _, err := l.Fetch(r.ctx(), r.memory.Remote(), 8); err == nil {
				t.Errorf("%s: the line is good after an error", what)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			r.eventually("the place is given back (V2)", func(st visit.Stats) bool { return st.Clients == 0 })
		}
	})
}

func TestDialNobody(t *testing.T) {
	r := newRig(t, provider.Loop, visit.HallConfig{MaxClients: 1})
	_, err := visit.Dial(r.ctx(), fabric.Addr{Fabric: provider.Loop, Name: "nobody"}, visit.LineConfig{Device: r.newDevice(), Depth: 1})
	if err == nil {
		t.Error("nobody was found")
	}
}
