package fabrictest

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/loop"
)

// sides are two runners with loop devices, joined by a pipe.
type sides struct {
	t    *testing.T
	conn [2]net.Conn // by role
	st   [2]*runner
}

// newSides greets on both sides. wrap changes the device of a role.
func newSides(t *testing.T, opt Options, wrap func(r Role, d fabric.Device) fabric.Device) *sides {
	t.Helper()
	s := &sides{t: t}
	s.conn[Server], s.conn[Client] = net.Pipe()
	network, names := loop.NewNetwork(), 0
	s.both(func(r Role) {
		d, err := network.NewDevice(r.String())
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { _ = d.Close() })
		side := Side{Role: r, Device: d, Control: s.conn[r], Options: opt, Listen: func() fabric.Addr {
			names++
			return fabric.Addr{Fabric: "loop", Name: fmt.Sprintf("listener%d", names)}
		}}
		if wrap != nil {
			side.Device = wrap(r, d)
		}
		if s.st[r], err = newRunner(side); err != nil {
			t.Errorf("%v: %v", r, err)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	t.Cleanup(func() { _, _ = s.conn[Server].Close(), s.conn[Client].Close() })
	return s
}

// both runs f for both roles at once.
func (s *sides) both(f func(r Role)) {
	var wait sync.WaitGroup
	for _, r := range []Role{Server, Client} {
		wait.Add(1)
		go func() {
			defer wait.Done()
			f(r)
		}()
	}
	wait.Wait()
}

// run runs a case on both sides.
func (s *sides) run(c *testCase) (log [2]*recorder, out [2]outcome) {
	s.both(func(r Role) {
		log[r] = &recorder{TB: s.t}
		s.st[r].seq++
		out[r] = s.st[r].run(log[r], c)
	})
	return log, out
}

// discord is what the client does in a case, what the server does meanwhile,
// and what each of them says about it.
type discord struct {
	name           string
	client, server func(p *peer)
	clientSays     string
	serverSays     string
	skipped        bool
	hangs          bool
}

// waits are ways in which the server waits for a client that fails.
func waits() map[string]func(p *peer) {
	return map[string]func(p *peer){
		"a word":      func(p *peer) { p.hear(new(int)) },
		"the end":     func(*peer) {},
		"a condition": func(p *peer) { p.await("nothing", func() bool { return false }) },
		"a dialer": func(p *peer) {
			_, err := p.listener().Accept(p.context)
			p.must("Accept", err)
		},
		"a message, asleep": func(p *peer) {
			s := p.sleeper(p.owner(p.dev, p.domain(p.dev), 8, false), fabric.WaitConfig{})
			p.untilTold(s, "a message", func() bool { return false })
		},
	}
}

func discords(t *testing.T) []discord {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	list := []discord{
		{
			name: "panics", client: func(*peer) { panic("just so") }, server: func(p *peer) { p.hear(new(int)) },
			clientSays: "panic: just so", serverSays: "the other side failed: panic: just so",
		},
		{
			name: "both", client: func(p *peer) { p.Fatalf("just so") }, server: func(p *peer) { p.Fatalf("and so") },
			clientSays: "so", serverSays: "so",
		},
		{
			name: "skips", client: func(p *peer) { p.must("Post", fabric.ErrUnsupported) },
			server: func(p *peer) { p.hear(new(int)) }, clientSays: "not supported", serverSays: "not supported", skipped: true,
		},
		{
			name: "out-of-step", client: func(p *peer) { p.meet("here") }, server: func(p *peer) { p.meet("there") },
			clientSays: "here", serverSays: "there",
		},
		{
			name: "hangs", client: func(*peer) { <-release }, server: func(p *peer) { p.hear(new(int)) },
			clientSays: "watchdog", serverSays: "the other side failed: watchdog", hangs: true,
		},
	}
	for what, wait := range waits() {
		list = append(list, discord{
			name: "fails-while-the-other-waits-for-" + what, client: func(p *peer) { p.Fatalf("just so") }, server: wait,
			clientSays: "just so", serverSays: "the other side failed: just so",
		})
	}
	return list
}

// TestDiscord has one side fail in every way: the other one fails for
// this reason, not because it timed out, and the next case is run in step.
func TestDiscord(t *testing.T) {
	for _, d := range discords(t) {
		t.Run(d.name, func(t *testing.T) {
			opt := Options{}
			if d.hangs {
				opt.Watchdog = 300 * time.Millisecond
			}
			s := newSides(t, opt, nil)
			if d.hangs { // one of them, not the one that waits for it
				s.st[Server].Options.Watchdog = DefaultWatchdog
			}
			log, out := s.run(&testCase{name: d.name, rule: "a rule", peer: func(p *peer) {
				if p.role == Client {
					d.client(p)
				} else {
					d.server(p)
				}
			}})
			for r, says := range []string{Server: d.serverSays, Client: d.clientSays} {
				if log[r].failed == d.skipped || log[r].skipped != d.skipped || !strings.Contains(log[r].log.String(), says) {
					t.Errorf("%v: failed %v, skipped %v, want %q:\n%s", Role(r), log[r].failed, log[r].skipped, says, log[r].log.String())
				}
				if (out[r] == caseHung) != (d.hangs && Role(r) == Client) {
					t.Errorf("%v: outcome %v", Role(r), out[r])
				}
			}
			if d.hangs {
				return
			}
			log, _ = s.run(peerCases()[0])
			for r := range log {
				if log[r].failed {
					t.Errorf("%v: the next case failed:\n%s", Role(r), log[r].log.String())
				}
			}
		})
	}
}

// TestGone has one side vanish in a case.
func TestGone(t *testing.T) {
	s := newSides(t, Options{}, nil)
	log, _ := s.run(&testCase{name: "vanishes", rule: "a rule", peer: func(p *peer) {
		if p.role == Client {
			_ = s.conn[Client].Close()
		}
		p.hear(new(int))
	}})
	for r := range log {
		if !log[r].failed || !strings.Contains(log[r].log.String(), "the other side is gone") {
			t.Errorf("%v: failed %v:\n%s", Role(r), log[r].failed, log[r].log.String())
		}
	}
}

// TestMismatch refuses sides that do not fit.
func TestMismatch(t *testing.T) {
	network := loop.NewNetwork()
	a, b := net.Pipe()
	errs := make(chan error, 2)
	for i, c := range []net.Conn{a, b} {
		go func() {
			d, err := network.NewDevice(fmt.Sprint(i))
			if err == nil {
				_, err = newRunner(Side{Role: Client, Device: d, Control: c})
				_ = d.Close()
			}
			errs <- err
		}()
	}
	for range 2 {
		if err := <-errs; err == nil || !strings.Contains(err.Error(), "this side is the client on loop, the other the client on loop") {
			t.Errorf("two clients: %v", err)
		}
	}
	_, _ = a.Close(), b.Close()
	if _, err := newRunner(Side{Role: Server}); err == nil {
		t.Error("a Side without anything was taken")
	}
}

// TestModestPeer has one device that has neither UC nor UD nor atomics: what
// needs them is skipped on both sides, all else passes.
func TestModestPeer(t *testing.T) {
	modest := &flaw{limits: func(l *fabric.Limits) { l.UC, l.UD, l.Atomics = false, false, false }}
	s := newSides(t, Options{}, func(r Role, d fabric.Device) fabric.Device {
		if r == Client {
			return &flawedDevice{d, modest}
		}
		return d
	})
	for _, c := range peerCases() {
		log, _ := s.run(c)
		parts := strings.Split(c.name, "/")
		needs := slices.Contains(parts, "uc") || slices.Contains(parts, "ud") || slices.Contains(parts, "fetch-add") ||
			slices.Contains(parts, "cmp-swap") || strings.HasPrefix(c.name, "G6/")
		for r := range log {
			if log[r].failed || log[r].skipped != needs {
				t.Errorf("%s, %v: failed %v, skipped %v\n%s", c.name, Role(r), log[r].failed, log[r].skipped, log[r].log.String())
			}
		}
	}
}
