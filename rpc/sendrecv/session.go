package sendrecv

import (
	"cmp"
	"context"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/internal/endpoint"
)

// session is one client at one core. The core owns it once it has entered.
type session struct {
	core   *core
	port   *port
	id     uint64 // in completions
	peer   fabric.Peer
	domain fabric.Domain
	qp     fabric.QP
	region *fabric.Region // places of receives, and of replies
	mem    []byte         // its bytes
	size   dimensions
	inline int

	arrived, served uint64 // requests
	lengths         []int  // of the messages in the places of receives
	posted, done    uint64 // SENDs, and those known to be complete
	due             bool   // it is in core.due
	gone            bool   // dropped: its memory may be gone too

	// Of the requests that were not served: where Expect was called with them, and of how
	// many.
	told, known int
}

// connect makes a session, with its queue pair.
func (c *core) connect(ctx context.Context, dev fabric.Device, req fabric.ConnRequest, h *hello) (*session, error) {
	s := &session{core: c, port: c.portOf(dev), size: h.dimensions, lengths: make([]int, h.receives())}
	s.inline = min(c.server.cfg.Inline, dev.Limits().MaxInline)
	c.memory.Add(int64(s.size.bytes()))
	if err := s.accept(ctx, dev, req); err != nil {
		s.free()
		return nil, err
	}
	c.Log.Debug("client connected", "qp", s.qp.Num(), "peer", s.peer.Addr)
	return s, nil
}

// accept makes the memory and the queue pair.
func (s *session) accept(ctx context.Context, dev fabric.Device, req fabric.ConnRequest) (err error) {
	if s.domain, err = dev.NewDomain(); err != nil {
		return err
	}
	if s.region, err = s.domain.Alloc("sendrecv session", s.size.bytes(), 0); err != nil {
		return err
	}
	s.mem = s.region.Bytes()
	cfg := &s.core.server.cfg
	w := welcome{core: s.core.Index, cores: cfg.Cores, dimensions: s.size}
	s.qp, err = req.Accept(ctx, fabric.QPConfig{
		Transport: fabric.RC, Domain: s.domain, SendCQ: s.port.CQ, RecvCQ: s.port.CQ,
		SendDepth: s.size.sendDepth(), RecvDepth: s.size.receives(), RNRTimeout: cfg.ReceiveWait,
		MaxSegs: 1, MaxInline: cmp.Or(max(s.inline, 0), fabric.NoInline),
	}, w.bytes())
	if err == nil {
		s.peer = s.qp.Peer()
	}
	return err
}

// free gives back memory; the queue pair is closed.
func (s *session) free() {
	_ = endpoint.Free(s.domain, s.region)
	s.core.memory.Add(-int64(s.size.bytes()))
}

// message is request number n+1, which came and was not served.
func (s *session) message(n uint64) []byte {
	at := s.size.receiveAt(n) + headerSize
	end := at + s.lengths[n%uint64(len(s.lengths))]
	return s.mem[at:end:end]
}

// room reports whether the send queue takes n more, beside those that were posted.
func (s *session) room(n int) bool { return s.posted-s.done+uint64(n) <= uint64(s.size.sendDepth()) }

// prepareReceive fills in the receive for request number n+1.
func (s *session) prepareReceive(w *fabric.RecvWR, n uint64) {
	w.ID, w.Local = s.id, s.region.Seg(s.size.receiveAt(n), s.size.sendBytes())
}

// prepareSend fills in the SEND of n bytes at off of the session's memory, the next one.
func (s *session) prepareSend(w *fabric.WR, off, n int) {
	w.ID, w.Op, w.Flags = s.id, fabric.OpSend, 0 // field by field: a literal would be made elsewhere and copied
	w.Local = s.region.Seg(off, n)
	if n <= s.inline {
		w.Flags = fabric.FlagInline
	}
	if s.posted++; s.posted%uint64(s.size.signalEvery()) == 0 {
		w.Flags |= fabric.FlagSignaled
	}
}

// sent notes the completion of a SEND, which is that of all since the last one (S7).
func (s *session) sent() { s.done += uint64(s.size.signalEvery()) }
