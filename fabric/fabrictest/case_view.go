package fabrictest

import (
	"bytes"

	"github.com/remora-kv/remora/fabric"
)

const ruleView = "View returns what a READ would, under the same rights, and is counted like one."

// viewCases are of providers whose queue pairs are Viewers; of others they ask nothing.
func viewCases() []*testCase {
	return join(
		one("G20/same-as-read", ruleView, near(viewSame)),
		one("G20/rights", ruleView, near(viewRights)),
		one("G20/counted", ruleView, near(viewCounted)),
		one("G20/behind-requests", ruleView, near(viewBehind)),
		one("G20/closed-region", "The memory behind a view stays mapped when its region is closed, "+
			"and is not reused: its bytes stay as they were last.", near(viewClosed)),
		one("G20/not-ready", "It returns false if only a READ can do that: for memory that was not read before or may not be read, "+
			"on a queue pair that is not ready or has requests that were not executed yet.", near(viewNotReady)),
		each("G20/transport", "Some queue pairs of type RC are Viewers.", viewTransport, fabric.UC, fabric.UD),
	)
}

// near gives a case a pair, the end that reaches the memory of the other without requests, and memory
// that it has READ before. Of a queue pair that is no T it asks nothing.
func near[T any](do func(p *pair, v T, far *mem)) func(t *trial) {
	return func(t *trial) {
		p := t.pair(pairConfig{size: 8192})
		v, ok := p.b.qp.(T)
		if !ok {
			return
		}
		far := t.mem(p.a.dom, 4096, everything)
		far.write(0, p.next(), 4096)
		p.do(p.b, p.b.readFrom(far.Remote(), 0, 64))
		do(p, v, far)
	}
}

// mustView looks at memory that can be looked at.
func (p *pair) mustView(v fabric.Viewer, from fabric.Remote, n int) []byte {
	p.t.Helper()
	b, ok := v.View(from, n)
	if !ok || len(b) != n || cap(b) != n {
		p.t.Fatalf("View of %d bytes returned %d with a capacity of %d, %t", n, len(b), cap(b), ok)
	}
	return b
}

// wantView checks what View returns against what is in a region.
func (p *pair) wantView(v fabric.Viewer, far *mem, off, n int) {
	p.t.Helper()
	if b := p.mustView(v, far.Remote().At(off), n); !bytes.Equal(snapshot(b), far.want[off:off+n]) {
		p.t.Fatalf("View of %d bytes at %d shows others than are there", n, off)
	}
}

func viewSame(p *pair, v fabric.Viewer, far *mem) {
	for _, r := range [][2]int{{0, 4096}, {0, 1}, {4095, 1}, {7, 9}, {1000, 3000}} {
		p.wantView(v, far, r[0], r[1])
	}
	p.b.mem.write(0, p.next(), 64)
	p.do(p.b, p.b.writeTo(far.Remote().At(128), 0, 64))
	far.expectBytes(128, p.b.mem.want[:64])
	p.wantView(v, far, 0, 4096)
}

func viewRights(p *pair, v fabric.Viewer, far *mem) {
	t := p.t
	closed := t.mem(p.a.dom, 4096, fabric.RemoteWrite)
	foreign := t.mem(t.domain(t.world.A), 4096, everything)
	p.do(p.b, p.b.writeTo(closed.Remote(), 0, 64))
	at := far.Remote()
	for what, r := range map[string]struct {
		from fabric.Remote
		n    int
	}{
		"what may not be read":      {closed.Remote(), 64},
		"a region of another owner": {foreign.Remote(), 64},
		"one byte too many":         {at, 4097},
		"the byte behind":           {at.At(4096), 1},
		"the byte before":           {fabric.Remote{Addr: at.Addr - 1, Key: at.Key}, 2},
		"the end of all addresses":  {fabric.Remote{Addr: ^uint64(0), Key: at.Key}, 64},
		"nothing":                   {at, 0},
		"less than nothing":         {at, -1},
		"more than there can be":    {at, int(^uint(0) >> 1)},
		"no key":                    {fabric.Remote{Addr: at.Addr}, 64},
		"an unknown key":            {fabric.Remote{Addr: at.Addr, Key: ^at.Key}, 64},
	} {
		if b, ok := v.View(r.from, r.n); ok || b != nil {
			t.Fatalf("View shows %d bytes of %s", len(b), what)
		}
	}
	p.quiet()
	p.wantView(v, far, 0, 4096)
	p.do(p.b, p.b.readFrom(far.Remote(), 0, 64))
}

func viewCounted(p *pair, v fabric.Viewer, far *mem) {
	was := p.b.qp.Counters()
	for n := range 5 {
		p.mustView(v, far.Remote(), 64-n)
	}
	_, _ = v.View(far.Remote(), 5000)
	want := tally{was}
	for n := range 5 {
		want.out(fabric.OpRead, 64-n)
	}
	p.wantCounts("the end that looks", &want, p.b.qp.Counters)
	there := tally{fabric.Counters{}}
	there.In[fabric.OpRead], there.InBytes = want.Out[fabric.OpRead], want.OutBytes
	p.wantCounts("the end that is looked at", &there, p.a.qp.Counters)
}

// viewBehind looks while a request that cannot be executed yet is before a WRITE: the view is
// of after the WRITE (G4), or there is none.
func viewBehind(p *pair, v fabric.Viewer, far *mem) {
	p.b.mem.write(0, p.next(), 64)
	p.b.post(p.b.sendFrom(64, 64), p.b.writeTo(far.Remote(), 0, 64))
	if b, ok := v.View(far.Remote(), 64); ok && !bytes.Equal(snapshot(b), p.b.mem.want[:64]) {
		p.t.Fatalf("View shows what was there before a WRITE that was posted earlier")
	}
	p.a.postRecv(p.a.recvAt(0, 64))
	p.sends(p.b, 2)
	far.expectBytes(0, p.b.mem.want[:64])
	p.wantView(v, far, 0, 64)
}

// viewClosed closes a region under a view, and makes others.
func viewClosed(p *pair, v fabric.Viewer, far *mem) {
	t := p.t
	for round := range t.times(16) {
		doomed := t.mem(p.a.dom, 4096, everything)
		doomed.write(0, p.next(), 4096)
		want := bytes.Clone(doomed.want)
		p.do(p.b, p.b.readFrom(doomed.Remote(), 0, 64))
		b := p.mustView(v, doomed.Remote(), 4096)
		t.must("Region.Close", doomed.Close())
		next := t.mem(p.a.dom, 4096, everything)
		next.write(0, p.next(), 4096)
		t.linger(p.a.owner)
		if !bytes.Equal(snapshot(b), want) {
			t.Fatalf("round %d: what a view shows has changed with the end of its region", round)
		}
		if b, ok := v.View(doomed.Remote(), 64); ok || b != nil {
			t.Fatalf("round %d: View shows a region that is closed", round)
		}
		p.wantView(v, far, 0, 4096)
		t.must("Region.Close", next.Close())
	}
	p.quiet()
}

func viewNotReady(p *pair, v fabric.Viewer, far *mem) {
	b := p.mustView(v, far.Remote(), 4096)
	p.t.must("Disconnect", p.b.qp.Disconnect())
	if !bytes.Equal(snapshot(b), far.want) {
		p.t.Fatalf("what a view shows has changed with the end of its connection")
	}
	if b, ok := v.View(far.Remote(), 64); ok || b != nil {
		p.t.Fatalf("View on a connection that is over")
	}
}

func viewTransport(t *trial, tr fabric.Transport) {
	p := t.pair(pairConfig{tr: tr, size: 4096})
	v, ok := p.b.qp.(fabric.Viewer)
	if !ok {
		return
	}
	if tr == fabric.UC {
		p.do(p.b, p.b.writeTo(p.a.mem.Remote(), 0, 64))
	}
	if b, ok := v.View(p.a.mem.Remote(), 64); ok || b != nil {
		t.Fatalf("View on %v", tr)
	}
}
