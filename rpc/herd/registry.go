package herd

import (
	"fmt"
	"sync"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/internal/endpoint"
	"github.com/remora-kv/remora/rpc/internal/serving"
)

// registry is a device as the server uses it. Its goroutine owns the UC queue pairs of
// the sessions there: it takes introductions and wake-ups, and begins and ends sessions.
type registry struct {
	serving.Loop
	server *Server
	dev    fabric.Device
	domain fabric.Domain // of the reply QPs and the reply memory
	cq     fabric.CQ

	sessions serving.Table[session]
	comps    [32]fabric.Completion
	one      [1]fabric.RecvWR
	wg       sync.WaitGroup // of goroutines that make address handles
}

func newRegistry(s *Server, dev fabric.Device) (*registry, error) {
	r := &registry{server: s, dev: dev}
	fail := func(err error) (*registry, error) {
		if r.cq != nil {
			_ = r.cq.Close()
		}
		if r.domain != nil {
			_ = r.domain.Close()
		}
		return nil, fmt.Errorf("herd: device %s: %w", dev.Name(), err)
	}
	var err error
	if r.domain, err = dev.NewDomain(); err != nil {
		return fail(err)
	}
	depth := s.cfg.MaxClients * (controls + 1)
	if r.cq, err = dev.NewCQ(min(depth, dev.Limits().MaxCQDepth)); err != nil {
		return fail(err)
	}
	// It waits for what is rare, and leaves the CPU to the cores.
	r.Waiter, err = dev.NewWaiter(fabric.WaitConfig{CQs: []fabric.CQ{r.cq}, Spin: time.Nanosecond})
	if err != nil {
		return fail(err)
	}
	r.Init(nil)
	r.Start(serving.Moves{Poll: r.poll, Close: func() { r.End(r.dropAll) }})
	return r, nil
}

func (r *registry) dropAll() {
	for t := range r.sessions.All() {
		r.drop(t)
	}
}

// close ends the sessions and the goroutine.
func (r *registry) close() {
	r.Stop()
	r.wg.Wait()
	_ = r.Waiter.Close()
	_ = r.cq.Close()
}

// enter makes a session one of the registry's.
func (r *registry) enter(t *session) {
	if r.Ending() {
		_ = t.qp.Close()
		t.release()
		return
	}
	t.id = r.sessions.Add(t)
	for i := range controls {
		if !r.postControl(t, i) {
			return
		}
	}
}

// postControl posts a receive for a control message.
func (r *registry) postControl(t *session, i int) bool {
	r.one[0] = fabric.RecvWR{ID: t.id | uint64(i)<<serving.IDBits, Local: t.controls.Seg(i*controlSize, controlSize)}
	if _, err := t.qp.PostRecv(r.one[:]); err != nil {
		r.broken(t, err)
		return false
	}
	return true
}

// poll takes what there is.
func (r *registry) poll() bool {
	worked := r.HasMail()
	if worked {
		r.Attend()
	}
	n := r.cq.Poll(r.comps[:])
	for i := range n {
		r.completion(&r.comps[i])
	}
	return worked || n != 0 || r.Stopping()
}

func (r *registry) completion(comp *fabric.Completion) {
	id, i := comp.ID&(1<<serving.IDBits-1), int(comp.ID>>serving.IDBits)
	t := r.sessions.Of(id)
	if t == nil {
		return // gone
	}
	if comp.Status != fabric.StatusOK {
		r.broken(t, endpoint.Reason(t.qp, comp))
		return
	}
	r.read(t, t.controls.Bytes()[i*controlSize:][:min(int(comp.Bytes), controlSize)])
	if r.sessions.Of(id) == t {
		r.postControl(t, i)
	}
}

// read takes an introduction or a wake-up. A completion has ordered it, and no client but
// the fabric can write it.
func (r *registry) read(t *session, msg []byte) {
	asked, address, ok := parseControl(msg)
	index, here := t.size.indexOf(asked.core)
	switch {
	case !ok || address == nil && !here:
		r.cut(t, "a malformed control message")
	case address == nil:
		t.chunks[index].wakeUp(asked)
	case t.entered:
		for _, ch := range t.chunks {
			ch.wakeUp(wakeup{})
		}
	case !t.introduced:
		t.introduced = true
		r.introduce(t, append([]byte(nil), address...))
	}
}

// introduce makes the address handles of a session, one for each core.
func (r *registry) introduce(t *session, address []byte) {
	t.holds.Add(1)
	r.wg.Go(func() {
		ctx, cancel := r.server.base.Handshake()
		defer cancel()
		var handles []fabric.AddressHandle
		err := t.qp.Owns(address)
		for range t.chunks {
			if err != nil {
				break
			}
			var h fabric.AddressHandle
			if h, err = r.domain.NewAddressHandle(ctx, address); err != nil {
				break
			}
			handles = append(handles, h)
		}
		r.Post(func() { r.enterCores(t, handles, err) })
	})
}

// enterCores hands the chunks of a session to the cores, if it is still there.
func (r *registry) enterCores(t *session, handles []fabric.AddressHandle, err error) {
	defer t.release()
	here := r.sessions.Of(t.id) == t
	if err == nil && here {
		t.entered = true
		t.holds.Add(int64(len(t.chunks)))
		for i, ch := range t.chunks {
			ch.to = handles[i]
			ch.core.Post(func() { ch.core.enter(ch) })
		}
		return
	}
	for _, h := range handles {
		_ = h.Close()
	}
	if here {
		r.cut(t, fmt.Sprintf("no way to its address: %v", err))
	}
}

// cut ends a client that broke the protocol (H8).
func (r *registry) cut(t *session, why string) {
	r.server.clients.CutOff(t.qp, why)
	r.drop(t)
}

// broken ends a session whose queue pair failed.
func (r *registry) broken(t *session, err error) {
	r.server.clients.Gone(t.qp, err)
	r.drop(t)
}

// drop forgets a session. Its memory is given back when all cores have let go (H7).
func (r *registry) drop(t *session) {
	if r.sessions.Of(t.id) != t {
		return
	}
	r.sessions.Remove(t.id)
	r.server.clients.Disconnects.Add(1)
	_ = t.qp.Close()
	if t.entered {
		for _, ch := range t.chunks {
			ch.core.Post(func() { ch.core.drop(ch) })
		}
	}
	t.release()
}
