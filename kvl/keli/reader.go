package keli

import (
	"context"
	"fmt"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/visit"
)

// reader READs memory of a server into slots, or looks at it where it is. It belongs to one
// goroutine.
type reader struct {
	line     *visit.Line
	viewer   fabric.Viewer // nil: everything is READ
	looked   bool          // since landing
	glances  uint          // how often landing was taken for that
	turn     uint64        // rises whenever views end
	board    fabric.Remote
	instance uint64
	local    *fabric.Region
	slotSize int
	stride   int // from one slot to the next
	piece    int // the longest READ
	slots    []slot
	free     int                  // places in the send queue
	places   int                  // of them in all
	starving bool                 // some slot has pieces that wait for a place
	chain    [chainMost]fabric.WR // READs to be posted
	chained  int
	landing  int64 // when completions were taken last, or after memory was looked at
	clock    fabric.Clock
	comps    [16]fabric.Completion
	awaited  *slot
	pollf    func() bool
	err      error
	revoked  bool // the connection is over because memory is not there any more
}

// slot is where the bytes of a READ arrive.
type slot struct {
	at      int            // in the reader's memory
	own     *fabric.Region // in place of that, for what is longer
	view    []byte         // in place of both: the memory of the server
	turn    uint64         // in which that was looked at
	from    fabric.Remote
	n       int // bytes wanted
	posted  int // of them
	flying  int // READs on their way
	reading bool
}

const (
	// chainMost is how many READs are posted together at most.
	chainMost = 16
	// slotGap lies between two slots. Slots at multiples of a power of two would all be in the
	// same few sets of a cache, which has fewer ways than there are slots.
	slotGap = 1088
	// maxPiece is the longest READ of what is read in pieces.
	maxPiece = 1 << 20
	// nap bounds how long a session waits without a look at its context.
	nap = time.Millisecond
)

// The slots behind those of the window.
const (
	boardSlot = iota
	directorySlot
	extraSlots
)

// dialReader connects with the visitors of a server.
func dialReader(ctx context.Context, addr fabric.Addr, dev fabric.Device, o *options) (*reader, error) {
	r := &reader{slotSize: o.slot, piece: min(maxPiece, dev.Limits().MaxMessage), slots: make([]slot, o.window+extraSlots), clock: dev.Clock()}
	r.places = min(len(r.slots), dev.Limits().MaxDepth)
	r.free = r.places
	var err error
	r.line, err = visit.Dial(ctx, addr, visit.LineConfig{Device: dev, Depth: r.free, Policy: o.policy, Hello: helloBytes()})
	if err != nil {
		return nil, err
	}
	if err := r.prepare(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *reader) prepare() error {
	w, err := parseWelcome(r.line.QP.PeerPrivate())
	if err != nil {
		return err
	}
	r.board, r.instance = w.board, w.instance
	r.stride = r.slotSize + slotGap
	if r.local, err = r.line.Domain.Alloc("keli client", len(r.slots)*r.stride, 0); err != nil {
		return err
	}
	for i := range r.slots {
		r.slots[i].at = i * r.stride
	}
	r.pollf = r.landed
	r.viewer, _ = r.line.QP.(fabric.Viewer)
	return nil
}

// extra returns one of the slots behind the window.
func (r *reader) extra(i int) *slot { return &r.slots[len(r.slots)-extraSlots+i] }

// start READs n bytes into a slot, which nothing is on its way to.
func (r *reader) start(s *slot, from fabric.Remote, n int) error {
	if r.err != nil {
		return r.err
	}
	if err := r.makeRoom(s, n); err != nil {
		return err
	}
	s.from, s.n, s.posted, s.reading, s.view = from, n, 0, true, nil
	r.post(s)
	return r.err
}

// makeRoom gives a slot memory of its own if it needs that, and takes it away if not.
func (r *reader) makeRoom(s *slot, n int) error {
	if s.own != nil && (n <= r.slotSize || s.own.Len() < n) {
		s.disown()
	}
	if n <= r.slotSize || s.own != nil {
		return nil
	}
	own, err := r.line.Domain.Alloc("keli long record", n, 0)
	if err != nil {
		return fmt.Errorf("keli: no memory for a record of %d bytes: %w", n, err)
	}
	s.own = own
	return nil
}

// disown takes its own memory away from a slot that nothing is on its way to.
func (s *slot) disown() {
	_ = s.own.Close()
	s.own = nil
}

// post chains what the send queue has places for.
func (r *reader) post(s *slot) {
	for s.posted < s.n && r.free > 0 && r.err == nil {
		n := min(s.n-s.posted, r.piece)
		w := &r.chain[r.chained]
		w.Op, w.Flags, w.ID = fabric.OpRead, fabric.FlagSignaled, uint64(s.at)
		w.Local.Region, w.Local.Off, w.Local.Len = r.local, s.at, n
		if s.own != nil {
			w.Local.Region, w.Local.Off = s.own, s.posted
		} else {
			w.Local.Off += s.posted
		}
		w.Remote.Key, w.Remote.Addr = s.from.Key, s.from.Addr+uint64(s.posted)
		s.posted += n
		s.flying++
		r.free--
		if r.chained++; r.chained == len(r.chain) {
			r.flush()
		}
	}
	r.starving = r.starving || s.posted < s.n
}

// flush posts the chain, by one call: an adapter is told once, and a software one loads the
// memory of all before it copies that of the first.
func (r *reader) flush() {
	n := r.chained
	if r.chained = 0; r.err != nil || n == 0 {
		return
	}
	r.turn++
	if _, err := r.line.QP.Post(r.chain[:n]); err != nil {
		r.fail(err)
	}
}

// bytes returns what has arrived, valid until the next start.
func (r *reader) bytes(s *slot) []byte {
	if s.own != nil {
		return s.own.Bytes()[:s.n:s.n]
	}
	return r.local.Bytes()[s.at : s.at+s.n : s.at+s.n]
}

// poll makes progress without waiting.
func (r *reader) poll() {
	r.turn++
	n := r.line.CQ.Poll(r.comps[:])
	if n != 0 {
		r.landing = r.clock.Now()
	}
	for i := range n {
		c := &r.comps[i]
		if c.Status != fabric.StatusOK || c.ID == visit.EndID {
			r.revoked = c.Status == fabric.StatusRemoteAccess
			r.fail(r.line.Broken(c))
			return
		}
		r.free++
		s := &r.slots[int(c.ID)/r.stride]
		s.flying--
		s.reading = s.flying > 0 || s.posted < s.n
	}
	if n > 0 && r.starving {
		r.resume()
	}
}

// resume posts pieces that had to wait for a place.
func (r *reader) resume() {
	r.starving = false
	for i := range r.slots {
		if s := &r.slots[i]; s.reading && s.posted < s.n {
			r.post(s)
		}
	}
	r.flush()
}

// landed polls, and reports whether what is awaited is there, or nothing comes any more.
func (r *reader) landed() bool {
	r.poll()
	return !r.awaited.reading || r.err != nil
}

// await posts what is chained, and waits until the bytes of a slot are there. When that was
// r.landing says, or something later.
func (r *reader) await(ctx context.Context, s *slot) error {
	r.awaited = s
	r.flush()
	for s.reading && r.err == nil {
		if r.landed() || r.line.Waiter.Wait(r.pollf, nap) {
			break
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if s.reading {
		return r.err
	}
	return nil
}

// rest waits a moment in which nothing is expected, unless the caller gives up.
func (r *reader) rest(ctx context.Context) error {
	r.line.Waiter.Wait(func() bool { r.landed(); return r.err != nil }, nap)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.err
}

// settle waits until nothing is on its way.
func (r *reader) settle(ctx context.Context) error {
	for i := range r.slots {
		if err := r.await(ctx, &r.slots[i]); err != nil {
			return err
		}
	}
	return nil
}

// fail ends the connection. The first reason counts.
func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("keli: reading from %s: %w", r.line.QP.Peer().Addr, err)
		_ = r.line.QP.Disconnect()
	}
}

// close ends the connection, and what is on its way.
func (r *reader) close() {
	regions := []*fabric.Region{r.local}
	for i := range r.slots {
		regions = append(regions, r.slots[i].own)
	}
	_ = r.line.Close(regions...)
}
