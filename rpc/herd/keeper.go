package herd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// port is a device as the server uses it, with the keeper: the goroutine that owns
// the UC queue pairs, takes introductions and rings, and begins and ends tenants.
type port struct {
	server *Server
	dev    fabric.Device
	domain fabric.Domain // of the outlets and the reply memory
	cq     fabric.CQ
	waiter fabric.Waiter
	stop   atomic.Bool
	done   chan struct{}
	pollf  func() bool

	tenants []*tenant // by tag; nil where there is none
	comps   [32]fabric.Completion
	one     [1]fabric.RecvWR
	wg      sync.WaitGroup // of those who make address handles

	attention atomic.Bool // inbox is not empty
	mu        sync.Mutex
	inbox     []func()
	over      bool // the keeper has ended: what comes is done at once
}

func newPort(s *Server, dev fabric.Device) (*port, error) {
	p := &port{server: s, dev: dev, done: make(chan struct{})}
	fail := func(err error) (*port, error) {
		if p.cq != nil {
			_ = p.cq.Close()
		}
		if p.domain != nil {
			_ = p.domain.Close()
		}
		return nil, fmt.Errorf("herd: device %s: %w", dev.Name(), err)
	}
	var err error
	if p.domain, err = dev.NewDomain(); err != nil {
		return fail(err)
	}
	depth := s.cfg.MaxClients * (letters + 1)
	if p.cq, err = dev.NewCQ(min(depth, dev.Limits().MaxCQDepth)); err != nil {
		return fail(err)
	}
	// It waits for what is rare, and leaves the CPU to the cores.
	p.waiter, err = dev.NewWaiter(fabric.WaitConfig{CQs: []fabric.CQ{p.cq}, Spin: time.Nanosecond})
	if err != nil {
		return fail(err)
	}
	p.pollf = p.poll
	go p.run()
	return p, nil
}

// run is the keeper.
func (p *port) run() {
	defer close(p.done)
	for !p.stop.Load() {
		p.waiter.Wait(p.pollf, 0)
	}
	p.attend()
	for _, t := range p.tenants {
		if t != nil {
			p.drop(t)
		}
	}
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.attention.Store(true) // somebody may have left something and not said so yet
	p.attend()
}

// close ends the keeper and its tenants.
func (p *port) close() {
	p.stop.Store(true)
	p.waiter.Wake()
	<-p.done
	p.wg.Wait()
	_ = p.waiter.Close()
	_ = p.cq.Close()
}

// do has the keeper call f.
func (p *port) do(f func()) {
	p.mu.Lock()
	if !p.over {
		p.inbox = append(p.inbox, f)
		p.mu.Unlock()
		p.attention.Store(true)
		p.waiter.Wake()
		return
	}
	p.mu.Unlock()
	f()
}

func (p *port) attend() bool {
	if !p.attention.Swap(false) {
		return false
	}
	p.mu.Lock()
	work := p.inbox
	p.inbox = nil
	p.mu.Unlock()
	for _, f := range work {
		f()
	}
	return true
}

// enter makes a tenant one of the keeper's.
func (p *port) enter(t *tenant) {
	if p.over { // and nobody else is here
		_ = t.qp.Close()
		t.release()
		return
	}
	t.tag = -1
	for tag, other := range p.tenants {
		if other == nil {
			t.tag = tag
			break
		}
	}
	if t.tag < 0 {
		t.tag = len(p.tenants)
		p.tenants = append(p.tenants, nil)
	}
	p.tenants[t.tag] = t
	for i := range letters {
		if !p.postLetter(t, i) {
			return
		}
	}
}

// postLetter posts a receive for a SEND of the client.
func (p *port) postLetter(t *tenant, i int) bool {
	p.one[0] = fabric.RecvWR{
		ID:    uint64(t.tag)<<40 | uint64(i)<<32 | uint64(t.generation),
		Local: t.letters.Seg(i*letterSize, letterSize),
	}
	if _, err := t.qp.PostRecv(p.one[:]); err != nil {
		p.broken(t, err)
		return false
	}
	return true
}

// poll takes what there is.
func (p *port) poll() bool {
	worked := p.attend()
	n := p.cq.Poll(p.comps[:])
	for i := range n {
		p.completion(&p.comps[i])
	}
	return worked || n != 0 || p.stop.Load()
}

func (p *port) completion(comp *fabric.Completion) {
	tag := comp.ID >> 40
	if tag >= uint64(len(p.tenants)) {
		return
	}
	t := p.tenants[tag]
	if t == nil || t.generation != uint32(comp.ID) {
		return // of one that is gone
	}
	if comp.Status != fabric.StatusOK {
		err := t.qp.Err()
		if err == nil {
			err = comp.Err()
		}
		p.broken(t, err)
		return
	}
	i := int(comp.ID >> 32 & 0xFF)
	p.read(t, t.letters.Bytes()[i*letterSize:][:min(int(comp.Bytes), letterSize)])
	if p.tenants[tag] == t {
		p.postLetter(t, i)
	}
}

// read takes an introduction or a ring. A completion has ordered it, and nobody but
// the fabric can write it.
func (p *port) read(t *tenant, letter []byte) {
	r, address, ok := parseLetter(letter)
	lane, here := t.size.lane(r.core)
	switch {
	case !ok || address == nil && !here:
		p.cut(t, "a letter that is none")
	case address == nil:
		t.chunks[lane].rung(r)
	case t.entered:
		for _, ch := range t.chunks {
			ch.rung(ring{})
		}
	case !t.introduced:
		t.introduced = true
		p.introduce(t, append([]byte(nil), address...))
	}
}

// introduce makes the address handles of a tenant, one for each core.
func (p *port) introduce(t *tenant, address []byte) {
	t.holds.Add(1)
	p.wg.Go(func() {
		ctx, cancel := context.WithTimeout(p.server.gate.Context(), handshakeTime)
		defer cancel()
		var handles []fabric.AddressHandle
		var err error
		for range t.chunks {
			var h fabric.AddressHandle
			if h, err = p.domain.NewAddressHandle(ctx, address); err != nil {
				break
			}
			handles = append(handles, h)
		}
		p.do(func() { p.enterCores(t, handles, err) })
	})
}

// enterCores hands the chunks of a tenant to the cores, if it is still there.
func (p *port) enterCores(t *tenant, handles []fabric.AddressHandle, err error) {
	defer t.release()
	here := p.tenants[t.tag] == t
	if err == nil && here {
		t.entered = true
		t.holds.Add(int64(len(t.chunks)))
		for i, ch := range t.chunks {
			ch.to = handles[i]
			ch.core.add(ch)
		}
		return
	}
	for _, h := range handles {
		_ = h.Close()
	}
	if here {
		p.cut(t, fmt.Sprintf("no way to its address: %v", err))
	}
}

// cut ends a client that broke the protocol (H8).
func (p *port) cut(t *tenant, why string) {
	p.server.cut.Add(1)
	p.server.cfg.Log.Warn("client cut off", "peer", t.peer.Addr, "qp", t.qp.Num(), "reason", why)
	p.drop(t)
}

// broken ends a tenant whose queue pair failed.
func (p *port) broken(t *tenant, err error) {
	if errors.Is(err, fabric.ErrDisconnected) || errors.Is(err, fabric.ErrClosed) {
		p.server.cfg.Log.Debug("client left", "peer", t.peer.Addr)
	} else {
		p.server.lost.Add(1)
		p.server.cfg.Log.Warn("client lost", "peer", t.peer.Addr, "err", err)
	}
	p.drop(t)
}

// drop forgets a tenant. Its memory is given back when all cores have let go (H7).
func (p *port) drop(t *tenant) {
	if p.tenants[t.tag] != t {
		return
	}
	p.tenants[t.tag] = nil
	p.server.disconnects.Add(1)
	_ = t.qp.Close()
	if t.entered {
		for _, ch := range t.chunks {
			ch.core.remove(ch)
		}
	}
	t.release()
}
