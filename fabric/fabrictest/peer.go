package fabrictest

import (
	"context"
	"encoding/json"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// peer is one of the two that run a case together.
type peer struct {
	*trial
	role Role
	dev  fabric.Device
	both fabric.Limits

	ctl  *control
	seq  int
	box  *mailbox
	once sync.Once // tells the other side how it ended here
	// peerKnows: the other side reported the end first and needs no report.
	peerKnows atomic.Bool
	// ended is closed when the other side has finished, left when this one has
	// no use for its messages any more, attended when no side waits for them.
	ended, left, attended chan struct{}
	// context ends when the case does.
	context context.Context
	cancel  context.CancelFunc
}

func newPeer(tb testing.TB, st *runner, c *testCase) *peer {
	ctx, cancel := context.WithTimeout(context.Background(), st.Options.Watchdog)
	p := &peer{
		trial: &trial{
			TB: tb, opt: st.Options, rule: c.rule, seed: seedOf(c.name),
			world: &World{A: st.Device, B: st.Device, Listen: st.Listen},
		},
		role: st.Role, dev: st.Device, both: st.both,
		ctl: st.ctl, seq: st.seq, box: st.ctl.box(st.seq),
		ended: make(chan struct{}), left: make(chan struct{}), attended: make(chan struct{}),
		context: ctx, cancel: cancel,
	}
	p.pause = func(i int) { breathe(i, p.box.arrived) }
	p.told = func(kind verdict, why string) { p.conclude(kind, why) }
	return p
}

// Both sides may share one processor: a waiting side spins for a while and then
// polls from time to time.
const (
	spins  = 4000
	breath = time.Millisecond
)

// breathe lets others run after the condition of a wait was looked at i times.
// A message ends it.
func breathe(i int, arrived <-chan struct{}) {
	if i < spins {
		runtime.Gosched()
		return
	}
	timer := time.NewTimer(breath)
	defer timer.Stop()
	select {
	case <-arrived:
	case <-timer.C:
	}
}

// conclude ends what blocks here and tells the other side why.
func (p *peer) conclude(kind verdict, why string) {
	p.once.Do(func() {
		p.cancel()
		if !p.peerKnows.Load() {
			_ = p.ctl.send(message{Case: p.seq, Kind: string(kind), Text: why})
		}
	})
}

// attend listens to how the case ends at the other side.
func (p *peer) attend() {
	go func() {
		defer close(p.attended)
		for {
			select {
			case <-p.left:
				return
			case m := <-p.box.verdicts:
				if p.apply(m) {
					return
				}
			case <-p.ctl.gone:
				// What it said before counts first.
				for len(p.box.verdicts) > 0 {
					if p.apply(<-p.box.verdicts) {
						return
					}
				}
				p.peerKnows.Store(true)
				p.Errorf("%v", p.ctl.cause)
				return
			}
		}
	}()
}

// apply does what a verdict asks for, and reports whether it is the last.
func (p *peer) apply(m message) bool {
	if verdict(m.Kind) == finished {
		close(p.ended)
		return false // it may fail while it cleans up
	}
	if p.stop.Load() {
		return true // this side ended by itself
	}
	p.peerKnows.Store(true)
	if verdict(m.Kind) == skipped {
		p.skipped.CompareAndSwap(nil, &m.Text)
		p.stop.Store(true)
		p.conclude(skipped, m.Text)
		return true
	}
	p.Errorf("the other side failed: %s", m.Text)
	return true
}

// leave ends attend.
func (p *peer) leave() {
	close(p.left)
	<-p.attended
}

// finish waits until the other side is at its end as well: until then it may
// need what is here.
func (p *peer) finish() {
	p.Helper()
	if err := p.ctl.send(message{Case: p.seq, Kind: string(finished)}); err != nil {
		p.Fatalf("the other side does not listen: %v", err)
	}
	timer := time.NewTimer(p.patience())
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-p.context.Done():
		p.check()
	case <-timer.C:
		p.Fatalf("this side is done, the other goes on and on")
	}
}

// say tells the other side something.
func (p *peer) say(v any) {
	p.Helper()
	p.check()
	if err := p.ctl.send(message{Case: p.seq, Kind: said, Body: encode(v)}); err != nil {
		p.Fatalf("the other side does not listen: %v", err)
	}
}

// hear waits for what the other side says. Meanwhile it drives the owners;
// without any, this side does nothing at all.
func (p *peer) hear(v any, owners ...*owner) {
	p.Helper()
	var m message
	if len(owners) == 0 {
		m = p.listen()
	} else {
		p.await("a word of the other side", func() bool {
			select {
			case m = <-p.box.said:
				return true
			default:
				return false
			}
		}, owners...)
	}
	if err := json.Unmarshal(m.Body, v); err != nil {
		p.Fatalf("the other side said %s: %v", m.Body, err)
	}
}

// listen waits for a message, blocked.
func (p *peer) listen() (m message) {
	p.Helper()
	timer := time.NewTimer(p.patience())
	defer timer.Stop()
	select {
	case m = <-p.box.said:
	case <-p.context.Done():
		p.check()
		p.Fatalf("the other side says nothing")
	case <-timer.C:
		p.Fatalf("the other side says nothing")
	}
	return m
}

// meet waits until both sides are at the same point.
func (p *peer) meet(where string, owners ...*owner) {
	p.Helper()
	p.say(where)
	var theirs string
	if p.hear(&theirs, owners...); theirs != where {
		p.Fatalf("this side is at %q, the other at %q", where, theirs)
	}
}

// needBoth skips the case when one of the devices has no such transport.
func (p *peer) needBoth(tr fabric.Transport) {
	if (tr == fabric.UC && !p.both.UC) || (tr == fabric.UD && !p.both.UD) {
		p.Skipf("the devices have no %v", tr)
	}
}

// needBothAtomics skips the case when one of the devices has none.
func (p *peer) needBothAtomics() {
	if !p.both.Atomics {
		p.Skipf("the devices have no atomics")
	}
}

// needOrder skips the case when one of the devices does not promise the address order.
func (p *peer) needOrder() {
	if !p.both.InOrder {
		p.Skipf("the devices do not promise that READs and WRITEs are in order")
	}
}

// arrives waits for what the other side has sent: on RC it comes, elsewhere it
// may not.
func (p *peer) arrives(what string, tr fabric.Transport, cond func() bool, owners ...*owner) bool {
	p.Helper()
	if tr == fabric.RC {
		p.await(what, cond, owners...)
		return true
	}
	return p.within(settleTime, cond, owners...)
}

// conn is this side's end of a connection.
type conn struct {
	*end
	p *peer
	// remote is the region of the other end.
	remote    fabric.Remote
	remoteQPN uint32
}

// introduction is what the ends of a connection tell each other.
type introduction struct {
	Remote  fabric.Remote
	QPN     uint32
	Address []byte
}

// connect makes a connection on an owner of its own. Both sides call it.
func (p *peer) connect(c pairConfig) *conn {
	p.Helper()
	c = c.withDefaults()
	return p.connectOn(p.owner(p.dev, p.domain(p.dev), c.sendDepth+c.recvDepth, c.split), c)
}

// connectOn makes a connection on an owner.
func (p *peer) connectOn(o *owner, c pairConfig) *conn {
	p.Helper()
	c = c.withDefaults()
	m := p.mem(o.dom, c.size, c.access)
	// The other side writes here, and what it says orders nothing.
	m.shared = true
	var e *end
	if c.tr == fabric.UD {
		e = p.datagram(o, c, m)
	} else {
		e = o.add(p.join(c.config(o)), c.config(o), m)
	}
	p.say(introduction{Remote: m.Remote(), QPN: e.qp.Num(), Address: e.qp.Address()})
	var theirs introduction
	p.hear(&theirs, o)
	if c.tr == fabric.UD {
		e.to = p.handle(o, theirs.Address)
	}
	return &conn{end: e, p: p, remote: theirs.Remote, remoteQPN: theirs.QPN}
}

// join makes a connected queue pair.
func (p *peer) join(cfg fabric.QPConfig) fabric.QP {
	p.Helper()
	if p.role == Client {
		qp, err := p.dev.Dial(p.context, p.theirAddr(), cfg, nil)
		p.must("Dial", err)
		return qp
	}
	l := p.listener()
	p.say(l.Addr().String())
	req, err := l.Accept(p.context)
	p.must("Listener.Accept", err)
	qp, err := req.Accept(p.context, cfg, nil)
	p.must("Accept", err)
	return qp
}

// theirAddr hears where the server listens.
func (p *peer) theirAddr() fabric.Addr {
	p.Helper()
	var s string
	p.hear(&s)
	addr, err := fabric.ParseAddr(s)
	p.must("the address of the server", err)
	return addr
}

// done drives the connection until n requests have completed, and takes them.
func (l *conn) done(n int) []fabric.Completion {
	l.t.Helper()
	l.t.await("completions of the send queue", func() bool { return len(l.sent) >= n }, l.owner)
	return l.takeSent(n)
}

// got drives the connection until n receives have completed, and takes them.
func (l *conn) got(n int) []fabric.Completion {
	l.t.Helper()
	l.t.await("receives", func() bool { return len(l.received) >= n }, l.owner)
	return l.takeReceived(n)
}

// do posts a chain and waits for what is signaled of it.
func (l *conn) do(wrs ...fabric.WR) []fabric.Completion {
	l.t.Helper()
	n := 0
	for i := range wrs {
		if wrs[i].Flags&fabric.FlagSignaled != 0 {
			n++
		}
	}
	l.post(wrs...)
	return l.done(n)
}

// turns runs a part of a case twice: the client begins, then the server does.
func (p *peer) turns(first, second func()) {
	for _, r := range []Role{Client, Server} {
		if p.role == r {
			first()
		} else {
			second()
		}
		p.meet("the end of a turn")
	}
}
