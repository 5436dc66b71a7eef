package rfp_test

import (
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc/wire"
)

// rawServer accepts one client after the other and lies to them.
type rawServer struct {
	t        testing.TB
	dev      fabric.Device
	dom      fabric.Domain
	cq       fabric.CQ
	listener fabric.Listener
	addr     fabric.Addr
	requests *fabric.Region
	answers  *fabric.Region
	welcome  atomic.Pointer[[]byte]
	accepted chan fabric.QP
	wg       sync.WaitGroup
}

// The dimensions that a raw server allows.
const (
	rawWindow  = 4
	rawResults = 8
	rawPayload = 512
)

var rawStride = roundUp64(wire.TailedBytes(rawPayload))

func (r *rig) rawServer() *rawServer {
	r.Helper()
	s := &rawServer{t: r.TB, dev: r.NewDevice(), accepted: make(chan fabric.QP, 1)}
	var err error
	s.dom, err = s.dev.NewDomain()
	if err == nil {
		s.requests, err = s.dom.Alloc("raw requests", rawSlots+rawWindow*1024, fabric.RemoteWrite)
	}
	if err == nil {
		s.answers, err = s.dom.Alloc("raw answers", rawResults*rawStride+rawArea, fabric.RemoteRead)
	}
	if err == nil {
		s.cq, err = s.dev.NewCQ(4096)
	}
	if err == nil {
		s.listener, err = s.dev.Listen(r.address("raw"), fabric.ListenConfig{})
	}
	if err != nil {
		r.Fatal(err)
	}
	s.addr = s.listener.Addr()
	s.greet(s.welcomeBytes())
	s.wg.Go(s.run)
	r.Cleanup(func() { _ = s.listener.Close(); s.wg.Wait() })
	return s
}

func (s *rawServer) goodWelcome() wire.Welcome {
	req, ans := s.requests.Remote(), s.answers.Remote()
	return wire.Welcome{
		Cores: 1, Window: rawWindow, Results: rawResults, Payload: rawPayload, MaxMessage: 10_000,
		Requests: wire.Place{Addr: req.Addr, Key: req.Key}, Answers: wire.Place{Addr: ans.Addr, Key: ans.Key},
		Proof: s.proves(),
	}
}

func (s *rawServer) welcomeBytes() []byte { w := s.goodWelcome(); return w.Append(nil) }

// greet sets what the next client is told.
func (s *rawServer) greet(b []byte) { s.welcome.Store(&b) }

func (s *rawServer) run() {
	ctx := context.Background()
	for {
		req, err := s.listener.Accept(ctx)
		if err != nil {
			return
		}
		qp, err := req.Accept(ctx, fabric.QPConfig{
			Transport: fabric.RC, Domain: s.dom, SendCQ: s.cq, RecvCQ: s.cq, SendDepth: 16, RecvDepth: 64,
		}, *s.welcome.Load())
		if err == nil {
			s.accepted <- qp
		}
	}
}

// put writes into the answers from lower to higher addresses.
func (s *rawServer) put(at int, b []byte) { fence.CopyOut(s.answers.Bytes()[at:], b) }

func (s *rawServer) putWord(at int, w wire.Word0) {
	s.put(at, binary.LittleEndian.AppendUint64(nil, uint64(w)))
}

// resultArea is the entry that says where the area for results is.
func (s *rawServer) resultArea() []byte {
	at := s.answers.Remote().At(rawResults * rawStride)
	return areaEntry(wire.Area{Place: wire.Place{Addr: at.Addr, Key: at.Key}, Results: true})
}

// frame puts a result frame into its slot.
func (s *rawServer) frame(n uint64, payload []byte, last bool) {
	at := int((n-1)%rawResults) * rawStride
	b := s.tailed(n, payload, last)
	s.put(at+wire.ResultHeader, b[wire.ResultHeader:])
	s.put(at, b[:wire.ResultHeader])
}

// proves reports whether the frames of both ends have to prove themselves.
func (s *rawServer) proves() bool { return !s.dev.Limits().InOrder }

// tailed is a result frame with its tail.
func (s *rawServer) tailed(n uint64, payload []byte, last bool) []byte {
	w := wire.MakeWord0(n, len(payload), wire.ResultAux(0, last))
	b := append(binary.LittleEndian.AppendUint64(nil, uint64(w)), payload...)
	tail := wire.Tail(n)
	if s.proves() {
		tail = wire.Proof(n, w, payload)
	}
	b = append(b, make([]byte, wire.ResultTail(len(payload))-len(b))...)
	return binary.LittleEndian.AppendUint64(b, tail)
}

// clear makes the answers what they were at first.
func (s *rawServer) clear() { s.put(0, make([]byte, len(s.answers.Bytes()))) }

// peek copies request memory that the client may be writing.
func (s *rawServer) peek(at, n int) []byte {
	b := make([]byte, n)
	fence.CopyIn(b, s.requests.Bytes()[at:at+n])
	return b
}

// requested reports whether request frame n is there, in a ring of one slot.
func (s *rawServer) requested(n uint64) bool {
	w := wire.Word0(binary.LittleEndian.Uint64(s.peek(rawSlots, 8)))
	tail := binary.LittleEndian.Uint64(s.peek(rawSlots+wire.TailOffset(w.Size()), 8))
	if s.proves() {
		return w.Is(n) && tail == wire.Proof(n, w, s.peek(rawSlots+8, 8+w.Size()))
	}
	return w.Is(n) && tail == wire.Tail(n)
}

// pieces returns what the frame in the first slot names.
func (s *rawServer) pieces(t testing.TB, area int) (all []wire.Piece) {
	t.Helper()
	w := wire.Word0(binary.LittleEndian.Uint64(s.peek(rawSlots, 8)))
	for left := s.peek(rawSlots+wire.RequestHeader, w.Size()); len(left) != 0; {
		entry, rest, marks, err := wire.NextEntry(left)
		p, ok := wire.ParsePiece(entry, area)
		if err != nil || marks != wire.Bulk || !ok {
			t.Fatalf("an entry of %d bytes, marks %d: %v", len(entry), marks, err)
		}
		all, left = append(all, p), rest
	}
	return all
}
