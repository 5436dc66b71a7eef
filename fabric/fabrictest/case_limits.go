package fabrictest

import (
	"errors"
	"math"

	"github.com/remora-kv/remora/fabric"
)

func limitCases() []*testCase {
	return join(
		one("limits/minimums", "Limits are what a device can do.", limitMinimums),
		one("limits/region", "Its bytes are zero at first and begin at a multiple of 4096.", regionBirth),
		one("limits/region-names", "Remote returns the name under which a peer reaches the first byte.", regionNames),
		each("limits/asked-for", "Post and PostRecv refuse more.", askedFor, fabric.RC, fabric.UC, fabric.UD),
		one("limits/bad-config", "Dial, Accept and NewUD validate it and report all that is wrong with it in one error.", badConfigs),
	)
}

// limitMinimums checks the numbers that programs above rely on without asking.
func limitMinimums(t *trial) {
	for _, d := range []fabric.Device{t.world.A, t.world.B} {
		lim := d.Limits()
		for _, m := range []struct {
			what       string
			got, least int
		}{
			{"MaxInline", lim.MaxInline, 0},
			{"MaxSegs", lim.MaxSegs, 2},
			{"MaxDepth", lim.MaxDepth, fabric.DefaultDepth},
			{"MaxCQDepth", lim.MaxCQDepth, 2 * fabric.DefaultDepth},
			{"MaxMessage", lim.MaxMessage, 1 << 20},
			{"MTU", lim.MTU, 256},
			{"MaxReads", lim.MaxReads, 1},
			{"MaxPrivate", lim.MaxPrivate, 56},
			{"MaxRegion", lim.MaxRegion, 1 << 20},
		} {
			if m.got < m.least {
				t.Errorf("device %s: %s is %d, must be at least %d", d.Name(), m.what, m.got, m.least)
			}
		}
		if again := d.Limits(); again != lim {
			t.Errorf("device %s: limits changed from %+v to %+v", d.Name(), lim, again)
		}
		if d.Fabric() == "" || d.Name() == "" {
			t.Errorf("device without a name: fabric %q, name %q", d.Fabric(), d.Name())
		}
		clock := d.Clock()
		for last, i := clock.Now(), 0; i < 1000; i++ {
			now := clock.Now()
			if now < last {
				t.Fatalf("the clock of %s went back from %d to %d", d.Name(), last, now)
			}
			last = now
		}
	}
	if t.world.A.Fabric() != t.world.B.Fabric() {
		t.Errorf("A is of fabric %q, B of %q", t.world.A.Fabric(), t.world.B.Fabric())
	}
}

func regionBirth(t *trial) {
	dom := t.domain(t.world.A)
	for _, size := range []int{1, 7, 64, 4095, 4096, 4097, 1 << 20} {
		for _, access := range []fabric.Access{0, fabric.RemoteRead, fabric.RemoteWrite, fabric.RemoteAtomic, everything} {
			r, err := dom.Alloc("fabrictest birth", size, access)
			t.must("Alloc", err)
			t.keepRegion(r)
			if r.Len() != size || len(r.Bytes()) != size {
				t.Fatalf("Alloc of %d bytes gave %d, %d", size, r.Len(), len(r.Bytes()))
			}
			for i, v := range r.Bytes() {
				if v != 0 {
					t.Fatalf("byte %d of a new region of %d bytes is %#x", i, size, v)
				}
			}
			if r.Access() != access || r.Domain() != dom {
				t.Fatalf("region has rights %v, asked for %v", r.Access(), access)
			}
			if r.Remote().Addr%4096 != 0 || addressOf(r.Bytes())%4096 != 0 {
				t.Fatalf("region of %d bytes begins at %#x, for peers at %#x", size, addressOf(r.Bytes()), r.Remote().Addr)
			}
			// Memory that is used again must be zero again.
			pattern(size).fill(r.Bytes(), 0)
			if size < 1<<20 {
				t.must("Region.Close", r.Close())
				t.wantErr("second Region.Close", r.Close(), fabric.ErrClosed)
			}
		}
	}
	if lim := t.world.A.Limits(); lim.MaxRegion < math.MaxInt {
		if _, err := dom.Alloc("fabrictest too large", lim.MaxRegion+1, 0); err == nil {
			t.Errorf("a region of %d bytes was made, the limit is %d", lim.MaxRegion+1, lim.MaxRegion)
		}
	}
}

// regionNames has many regions at once: what is written to each arrives there.
func regionNames(t *trial) {
	p := t.pair(pairConfig{})
	var regions []*mem
	for i := range 40 {
		regions = append(regions, t.mem(p.a.dom, 64+i*100, everything))
	}
	for i, r := range regions {
		p.b.mem.write(0, pattern(100+i), r.Len())
		p.do(p.b, p.b.writeTo(r.Remote(), 0, r.Len()))
		r.expect(0, pattern(100+i), r.Len())
	}
	for _, r := range regions {
		r.verify("region after a WRITE to each of many")
	}
	p.a.mem.verify("the region beside them")
}

// badConfigs tries queue pairs that cannot be.
func badConfigs(t *trial) {
	l := t.listener()
	o := t.owner(t.world.B, t.domain(t.world.B), 256, false)
	good := pairConfig{tr: fabric.RC}.withDefaults().config(o)
	lim := t.world.B.Limits()
	for _, bad := range []struct {
		what   string
		change func(*fabric.QPConfig)
	}{
		{"no domain", func(c *fabric.QPConfig) { c.Domain = nil }},
		{"no send CQ", func(c *fabric.QPConfig) { c.SendCQ = nil }},
		{"no receive CQ", func(c *fabric.QPConfig) { c.RecvCQ = nil }},
		{"negative send depth", func(c *fabric.QPConfig) { c.SendDepth = -1 }},
		{"negative receive depth", func(c *fabric.QPConfig) { c.RecvDepth = -1 }},
		{"send depth too large", func(c *fabric.QPConfig) { c.SendDepth = lim.MaxDepth + 1 }},
		{"receive depth too large", func(c *fabric.QPConfig) { c.RecvDepth = lim.MaxDepth + 1 }},
		{"too much inline", func(c *fabric.QPConfig) { c.MaxInline = lim.MaxInline + 1 }},
		{"negative inline", func(c *fabric.QPConfig) { c.MaxInline = -2 }},
		{"too many segments", func(c *fabric.QPConfig) { c.MaxSegs = lim.MaxSegs + 1 }},
		{"negative segments", func(c *fabric.QPConfig) { c.MaxSegs = -1 }},
		{"RNR timeout", func(c *fabric.QPConfig) { c.RNRTimeout = -5 }},
		{"everything", func(c *fabric.QPConfig) { *c = fabric.QPConfig{SendDepth: -1, RecvDepth: -1, RNRTimeout: -5} }},
	} {
		cfg := good
		bad.change(&cfg)
		qp, err := t.world.B.Dial(t.ctx(), l.Addr(), cfg, nil)
		if qp != nil || !errors.Is(err, fabric.ErrInvalid) {
			t.Errorf("Dial with %s: got %v, %v; want ErrInvalid", bad.what, qp, err)
		}
		if !lim.UD || bad.what == "no domain" { // NewUD is the domain's own
			continue
		}
		cfg.Transport = fabric.UD
		qp, err = o.dom.NewUD(cfg)
		if qp != nil || !errors.Is(err, fabric.ErrInvalid) {
			t.Errorf("NewUD with %s: got %v, %v; want ErrInvalid", bad.what, qp, err)
		}
	}
	// Datagrams are not dialed, and connections are not NewUD's.
	cfg := good
	cfg.Transport = fabric.UD
	if _, err := t.world.B.Dial(t.ctx(), l.Addr(), cfg, nil); err == nil {
		t.Errorf("Dial made a datagram queue pair")
	}
	if _, err := o.dom.NewUD(good); err == nil {
		t.Errorf("NewUD made a connected queue pair")
	}
}

// askedFor makes queue pairs that ask for less than the device can do: they take as much and no more.
func askedFor(t *trial, tr fabric.Transport) {
	most := min(t.world.A.Limits().MaxInline, t.world.B.Limits().MaxInline)
	for _, asked := range []int{fabric.NoInline, min(most/2, t.mtu())} {
		p := t.pair(pairConfig{tr: tr, segs: 1, inline: asked, size: max(64<<10, t.slots(2))})
		refused := func(what string, change func(w *fabric.WR)) {
			w := p.b.sendFrom(0, 8)
			change(&w)
			n, err := p.b.qp.Post([]fabric.WR{w})
			t.wantPostError(what, n, err, 0, fabric.ErrInvalid)
		}
		more := []fabric.Seg{p.b.mem.Seg(16, 8)}
		refused("a segment more than was asked for", func(w *fabric.WR) { w.More = more })
		n, err := p.b.qp.PostRecv([]fabric.RecvWR{{Local: p.b.mem.Seg(0, 8), More: more}})
		t.wantPostError("a receive with a segment more than was asked for", n, err, 0, fabric.ErrInvalid)
		refused("a byte inline more than was asked for", func(w *fabric.WR) {
			w.Local.Len = max(asked, 0) + 1
			*w = inline(*w)
		})
		p.sendOne(p.b, variant{size: 8, signaled: true}, "a message of one segment")
		if asked > 0 {
			p.sendOne(p.b, variant{size: asked, signaled: true, inline: true}, "as much inline as was asked for")
		}
	}
}
