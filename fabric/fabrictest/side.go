package fabrictest

import (
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// Role is what a peer is.
type Role int

const (
	// Server listens, and runs the cases that the client names.
	Server Role = iota
	// Client dials, and leads through the cases.
	Client
)

// String returns the role in words.
func (r Role) String() string {
	if r == Client {
		return "client"
	}
	return "server"
}

// Side describes one of two peers.
type Side struct {
	Role Role
	// Device is used for all cases. The caller closes it.
	Device fabric.Device
	// Listen returns a fresh address at which the device of the server can
	// listen. What Listener.Addr makes of it is how the client reaches it.
	Listen func() fabric.Addr
	// Control leads to the other side. It is used until RunSide returns; then
	// the caller closes it, by which the other side learns that this one is
	// gone, should it not know.
	Control io.ReadWriter
	Options Options
}

// maxFailed is after how many failed cases the two sides give up.
const maxFailed = 5

// RunSide is one peer of the cases for two. The other one runs at the same time
// at the other end of Control, in another process or on another machine.
// The client leads: the cases that its flags choose are run by both.
func RunSide(t *testing.T, s Side) {
	t.Helper()
	st, err := newRunner(s)
	if err != nil {
		t.Fatalf("fabrictest: %v", err)
	}
	if s.Role == Client {
		st.lead(t, peerCases())
	} else {
		st.follow(t, peerCases())
	}
}

// peerCases are the cases for two peers. The first of them is a single message.
func peerCases() []*testCase {
	return slices.DeleteFunc(allCases(), func(c *testCase) bool { return c.peer == nil })
}

// runner is a side with its connection to the other one.
type runner struct {
	Side
	ctl *control
	// both is what both devices can do.
	both fabric.Limits
	seq  int // the number of the current case
}

// newRunner greets the other side.
func newRunner(s Side) (*runner, error) {
	if s.Device == nil || s.Control == nil || (s.Role == Server && s.Listen == nil) {
		return nil, fmt.Errorf("the Side of the %v lacks Device, Control or Listen", s.Role)
	}
	if s.Options.Watchdog == 0 {
		s.Options.Watchdog = DefaultWatchdog
	}
	st := &runner{Side: s, ctl: newControl(s.Control)}
	mine := greeting{Role: s.Role, Fabric: s.Device.Fabric(), Limits: s.Device.Limits()}
	if err := st.ctl.send(message{Kind: said, Body: encode(mine)}); err != nil {
		return nil, fmt.Errorf("the other side does not listen: %w", err)
	}
	var theirs greeting
	if err := st.ctl.hear(0, &theirs, s.Options.Watchdog); err != nil {
		return nil, fmt.Errorf("no greeting from the other side: %w", err)
	}
	if theirs.Role == mine.Role || theirs.Fabric != mine.Fabric {
		return nil, fmt.Errorf("this side is the %v on %s, the other the %v on %s",
			mine.Role, mine.Fabric, theirs.Role, theirs.Fabric)
	}
	st.both = common(mine.Limits, theirs.Limits)
	return st, nil
}

// greeting is the first message of each side.
type greeting struct {
	Role   Role
	Fabric string
	Limits fabric.Limits
}

// common returns what both can do.
func common(a, b fabric.Limits) fabric.Limits {
	return fabric.Limits{
		MaxInline: min(a.MaxInline, b.MaxInline), MaxSegs: min(a.MaxSegs, b.MaxSegs),
		MaxDepth: min(a.MaxDepth, b.MaxDepth), MaxCQDepth: min(a.MaxCQDepth, b.MaxCQDepth),
		MaxMessage: min(a.MaxMessage, b.MaxMessage), MTU: min(a.MTU, b.MTU), MaxReads: min(a.MaxReads, b.MaxReads),
		MaxPrivate: min(a.MaxPrivate, b.MaxPrivate), MaxRegion: min(a.MaxRegion, b.MaxRegion),
		UC: a.UC && b.UC, UD: a.UD && b.UD, Atomics: a.Atomics && b.Atomics, InOrder: a.InOrder && b.InOrder, Mapped: a.Mapped && b.Mapped,
	}
}

// lead runs the cases and has the other side run them.
func (st *runner) lead(t *testing.T, cases []*testCase) {
	t.Helper()
	bad := 0
	for i, c := range cases {
		hung := false
		ok := t.Run(c.name, func(t *testing.T) {
			st.seq++
			if err := st.ctl.send(message{Case: st.seq, Kind: begin, Text: c.name}); err != nil {
				t.Fatalf("fabrictest: the other side does not listen: %v", err)
			}
			hung = st.run(t, c) == caseHung
		})
		if !ok {
			bad++
		}
		if hung {
			t.Fatal("fabrictest: a case hangs: the rest was not tried")
		}
		if st.ctl.isGone() {
			t.Fatal("fabrictest: the other side is gone: the rest was not tried")
		}
		if bad == maxFailed || (i == 0 && bad == 1) {
			t.Errorf("fabrictest: %d cases failed: the rest was not tried", bad)
			break
		}
	}
	if err := st.ctl.send(message{Kind: over}); err != nil {
		t.Fatalf("fabrictest: the other side does not listen: %v", err)
	}
	if _, err := st.ctl.next(st.Options.Watchdog); err != nil {
		t.Fatalf("fabrictest: the other side did not come to the end: %v", err)
	}
}

// follow runs the cases that the other side names.
func (st *runner) follow(t *testing.T, cases []*testCase) {
	t.Helper()
	byName := map[string]*testCase{}
	for _, c := range cases {
		byName[c.name] = c
	}
	// The other side may be cleaning up after a case that hangs.
	for patience := 3 * st.Options.Watchdog; ; {
		m, err := st.ctl.next(patience)
		if err != nil {
			t.Fatalf("fabrictest: the other side names no case: %v", err)
		}
		if m.Kind == over {
			if err := st.ctl.send(message{Kind: over}); err != nil {
				t.Fatalf("fabrictest: the other side does not listen: %v", err)
			}
			return
		}
		st.seq = m.Case
		ran, hung := false, false
		t.Run(m.Text, func(t *testing.T) {
			c := byName[m.Text]
			if c == nil {
				t.Fatalf("fabrictest: there is no case %s", m.Text)
			}
			ran = true
			hung = st.run(t, c) == caseHung
		})
		if hung {
			t.Fatal("fabrictest: a case hangs: the rest was not tried")
		}
		if !ran {
			_ = st.ctl.send(message{Case: m.Case, Kind: string(failed), Text: "it does not run " + m.Text})
		}
	}
}

// run runs one case at this side.
func (st *runner) run(tb testing.TB, c *testCase) outcome {
	tb.Helper()
	out, why := st.try(tb, c)
	if why != "" && out == caseEnded && !tb.Failed() {
		tb.Skip(why)
	}
	return out
}

// try runs one case at this side, with a watchdog, and says why it was skipped.
func (st *runner) try(tb testing.TB, c *testCase) (out outcome, skipped string) {
	tb.Helper()
	p := newPeer(tb, st, c)
	p.attend()
	ok := p.supervised("case", func() {
		c.peer(p)
		p.finish()
	})
	p.cancel()
	ok = ok && p.supervised("its goroutines", p.group.Wait) && p.supervised("clean-up", func() {
		p.release()
		p.cleanUp()
	})
	p.leave()
	if tb.Failed() {
		tb.Logf("seed %#x; the rule: %s", p.seed, c.rule)
	}
	if !ok {
		return caseHung, ""
	}
	if why := p.skipped.Load(); why != nil {
		return caseEnded, *why
	}
	return caseEnded, ""
}

// settleTime is how long a message that may be dropped is waited for.
const settleTime = 500 * time.Millisecond
