package rfp

import (
	"context"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc/internal/endpoint"
	"github.com/remora-kv/remora/rpc/internal/serving"
	"github.com/remora-kv/remora/rpc/wire"
)

// wakeups is how many wake-ups of a client can wait to be noticed.
const wakeups = 4

// session is one client at one core. The core owns it once it has entered.
type session struct {
	core    *core
	port    *port
	id      uint64        // in completions
	hotAt   serving.Place // in core.hot
	slowAt  serving.Place // in core.slow
	peer    fabric.Peer
	qp      fabric.QP
	domain  fabric.Domain
	rings   rings
	reqs    *fabric.Region
	answers *fabric.Region
	replies fabric.Remote

	batch    uint16 // that the client says to use
	calls    uint64
	number   uint64 // of the request frame that comes next
	slots    []requestSlot
	slot     int // where it will be
	lastSeen uint64
	doubt    serving.Doubt // about the frame that comes next, or the piece that it names next
	parked   bool
	gone     bool // dropped: its memory may be gone too

	answerMem    []byte
	answerAt     int // where the next result frame goes
	answerSlot   int // the number of that slot
	answerStride int

	produced uint64 // result frames made
	taken    uint64 // of them known to be taken by the client
	pushed   uint64 // of them, by WRITE
	backlog  []waitingFrame
	waiting  int    // bytes in backlog
	partial  []byte // of a request that is not complete
	inline   int

	// The bulk areas, once the client was told where they are: pieces of requests, and those of
	// results with where the head was when the frame of each answer slot was made.
	bulkIn, bulkOut []byte
	areas           serverAreas
	out             area
	ends            []uint64
	skips           int // results for which the core does not wait for the client
	nextSkips       int // what skips will be when the core has waited in vain again

	// The frame that is being served while its results wait for room.
	halted   bool
	unserved []byte // its messages that have not been handled
	word1    wire.Word1
	pushAll  bool
	start    int64
}

// requestSlot is a slot as the server polls it.
type requestSlot struct {
	word *atomic.Uint64
	mem  []byte
}

// waitingFrame is a result frame for which there is no room yet.
type waitingFrame struct {
	payload []byte
	last    bool
	push    bool
	class   uint8
	start   int64
	bulkEnd uint64 // of the area for pieces up to this frame

	// A long result of which this is left, instead of a payload.
	rest, whole []byte
	total       int
}

// connect makes a session, with its queue pair.
func (c *core) connect(ctx context.Context, dev fabric.Device, req fabric.ConnRequest, h *wire.Hello) (*session, error) {
	s := &session{core: c, port: serving.On(c.server.base.Acceptor, c.ports, dev), number: 1, replies: remoteOf(h.Replies)}
	err := s.allocate(dev, h)
	if err == nil {
		err = s.accept(ctx, req)
	}
	if err != nil {
		s.free()
		return nil, err
	}
	c.Log.Debug("client connected", "qp", s.qp.Num(), "peer", s.peer.Addr)
	return s, nil
}

// allocate makes everything but the queue pair.
func (s *session) allocate(dev fabric.Device, h *wire.Hello) (err error) {
	cfg := &s.core.server.cfg
	s.rings = rings{
		window:  min(int(h.Window), cfg.Window),
		results: min(int(h.Results), cfg.Results),
		payload: min(int(h.Payload), cfg.Payload),
		bulk:    min(int(h.Bulk), cfg.bulk()) &^ (lineSize*piecesInArea - 1),
		proof:   h.Proof || !dev.Limits().InOrder,
	}
	s.rings.resultBulk = resultBulkOf(s.rings.bulk, dev.Limits())
	if s.domain, err = dev.NewDomain(); err != nil {
		return err
	}
	if s.reqs, err = s.domain.Alloc("rfp requests", s.rings.requestBytes(), fabric.RemoteWrite); err != nil {
		return err
	}
	if s.answers, err = s.domain.Alloc("rfp answers", s.rings.resultBytes(), fabric.RemoteRead); err != nil {
		return err
	}
	mem := s.reqs.Bytes()
	for n := range s.rings.window {
		at := s.rings.requestAt(uint64(n + 1))
		s.slots = append(s.slots, requestSlot{word: fence.Word(mem, at), mem: mem[at : at+s.rings.requestStride()]})
	}
	s.answerMem, s.answerStride = s.answers.Bytes(), s.rings.resultStride()
	s.ends = make([]uint64, s.rings.results)
	s.inline = dev.Limits().MaxInline
	return nil
}

// sessionDepth is the length of a session's send queue: every result frame may
// be pushed, one in half a ring reports, and reports wait for a while.
func sessionDepth(results int) int { return 3 * results }

// accept makes the queue pair.
func (s *session) accept(ctx context.Context, req fabric.ConnRequest) error {
	cfg := &s.core.server.cfg
	w := wire.Welcome{
		Core: uint16(s.core.Index), Cores: uint16(cfg.Cores),
		Window: uint16(s.rings.window), Results: uint16(s.rings.results),
		Payload: uint32(s.rings.payload), MaxMessage: uint32(cfg.MaxMessage),
		Requests: placeOf(s.reqs.Remote()), Answers: placeOf(s.answers.Remote()),
		Bulk: uint32(s.rings.bulk), ResultBulk: uint32(s.rings.resultBulk), Proof: s.rings.proof,
	}
	qp, err := req.Accept(ctx, fabric.QPConfig{
		Transport: fabric.RC, Domain: s.domain, SendCQ: s.port.CQ, RecvCQ: s.port.CQ,
		SendDepth: sessionDepth(s.rings.results), RecvDepth: wakeups, MaxSegs: 1,
		// An adapter that counts its attempts waits a sixth of the time between them: a quarter of a second for
		// a push that comes a moment too early. Its client fetches what does not fit the queue meanwhile (I3).
		RNRTimeout: fabric.RNRForever,
	}, w.Append(nil))
	if err != nil {
		return err
	}
	s.qp, s.peer = qp, qp.Peer()
	return nil
}

// free gives back memory; the queue pair is closed.
func (s *session) free() {
	s.areas.making.Wait()
	_ = endpoint.Free(s.domain, append(s.areas.made[:], s.reqs, s.answers)...)
}

// memory is the number of bytes that the session takes beside its queue pair.
func (s *session) memory() int {
	areas := len(s.bulkIn) + min(len(s.bulkOut), max(s.rings.bulk, s.out.touched))
	return s.rings.requestBytes() + s.rings.resultBytes() + areas + s.waiting + cap(s.partial) + cap(s.unserved)
}

// mode says in which mode the client wants answers of a class.
func (s *session) mode(class uint8) Mode {
	return Mode(fence.ObserveByte(&s.reqs.Bytes()[modesAt+int(class)]))
}

// room reports whether there is a free slot for a result frame.
func (s *session) room() bool { return s.produced-s.taken < uint64(s.rings.results) }
