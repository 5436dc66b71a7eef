package keli

import (
	"context"
	"fmt"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/onesided"
)

// reader READs memory of a server into slots, or views it in place. It belongs to one goroutine.
type reader struct {
	conn       *onesided.ReaderConn
	viewer     fabric.Viewer // nil: everything is READ
	viewed     bool          // since arrival
	checks     uint          // calls of checkClock
	viewEpoch  uint64        // rises whenever views become invalid
	superblock fabric.Remote
	instance   uint64
	local      *fabric.Region
	slotSize   int
	stride     int // from one slot to the next
	piece      int // the longest READ
	slots      []slot
	sqFree     int                  // free places in the send queue
	sqDepth    int                  // its places in all
	backlog    bool                 // some slot has pieces that wait for a place in the send queue
	chain      [chainMost]fabric.WR // READs to be posted
	chained    int
	arrival    int64 // when completions were polled last, or after memory was viewed
	clock      fabric.Clock
	comps      [16]fabric.Completion
	awaited    *slot
	pollf      func() bool
	err        error
	revoked    bool // the connection was lost because the memory was given back
}

// slot is where the bytes of a READ arrive.
type slot struct {
	at        int            // in the reader's memory
	own       *fabric.Region // a buffer of its own, for a longer record
	view      []byte         // the memory of the server, if it is viewed in place
	viewEpoch uint64         // of view
	from      fabric.Remote
	n         int // bytes wanted
	posted    int // of them
	inFlight  int // READs
	reading   bool
}

const (
	// chainMost is how many READs are posted together at most.
	chainMost = 16
	// slotGap lies between two slots. Slots at multiples of a power of two would share a few sets
	// of the CPU cache, which has fewer ways than there are slots.
	slotGap = 1088
	// maxPiece is the longest READ. A longer record is read in pieces.
	maxPiece = 1 << 20
	// contextInterval bounds how long a session waits without checking its context.
	contextInterval = time.Millisecond
)

// The slots behind those of the window.
const (
	superblockSlot = iota
	directorySlot
	extraSlots
)

// dialReader makes a reader connection.
func dialReader(ctx context.Context, addr fabric.Addr, dev fabric.Device, o *options) (*reader, error) {
	r := &reader{slotSize: o.slot, piece: min(maxPiece, dev.Limits().MaxMessage), slots: make([]slot, o.window+extraSlots), clock: dev.Clock()}
	r.sqDepth = min(len(r.slots), dev.Limits().MaxDepth)
	r.sqFree = r.sqDepth
	var err error
	r.conn, err = onesided.DialReader(ctx, addr, onesided.ReaderConfig{Device: dev, Depth: r.sqFree, Policy: o.policy, Hello: helloBytes()})
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
	w, err := parseWelcome(r.conn.QP.PeerPrivate())
	if err != nil {
		return err
	}
	r.superblock, r.instance = w.superblock, w.instance
	r.stride = r.slotSize + slotGap
	if r.local, err = r.conn.Domain.Alloc("keli client", len(r.slots)*r.stride, 0); err != nil {
		return err
	}
	for i := range r.slots {
		r.slots[i].at = i * r.stride
	}
	r.pollf = r.arrived
	r.viewer, _ = r.conn.QP.(fabric.Viewer)
	return nil
}

// extra returns one of the slots behind the window.
func (r *reader) extra(i int) *slot { return &r.slots[len(r.slots)-extraSlots+i] }

// start READs n bytes into a slot that has no READ in flight.
func (r *reader) start(s *slot, from fabric.Remote, n int) error {
	if r.err != nil {
		return r.err
	}
	if err := r.fit(s, n); err != nil {
		return err
	}
	s.from, s.n, s.posted, s.reading, s.view = from, n, 0, true, nil
	r.post(s)
	return r.err
}

// fit gives a slot a buffer of its own if n bytes need one, and frees it if not.
func (r *reader) fit(s *slot, n int) error {
	if s.own != nil && (n <= r.slotSize || s.own.Len() < n) {
		s.freeOwn()
	}
	if n <= r.slotSize || s.own != nil {
		return nil
	}
	own, err := r.conn.Domain.Alloc("keli long record", n, 0)
	if err != nil {
		return fmt.Errorf("keli: no memory for a record of %d bytes: %w", n, err)
	}
	s.own = own
	return nil
}

// freeOwn frees the slot's own buffer. No READ into it is in flight.
func (s *slot) freeOwn() {
	_ = s.own.Close()
	s.own = nil
}

// post chains as many READs of a slot as the send queue has places for.
func (r *reader) post(s *slot) {
	for s.posted < s.n && r.sqFree > 0 && r.err == nil {
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
		s.inFlight++
		r.sqFree--
		if r.chained++; r.chained == len(r.chain) {
			r.flush()
		}
	}
	r.backlog = r.backlog || s.posted < s.n
}

// flush posts the chain by one call: an adapter gets one doorbell, and a software provider
// prefetches the memory of all READs before it copies that of the first.
func (r *reader) flush() {
	n := r.chained
	if r.chained = 0; r.err != nil || n == 0 {
		return
	}
	r.viewEpoch++
	if _, err := r.conn.QP.Post(r.chain[:n]); err != nil {
		r.fail(err)
	}
}

// bytes returns what has arrived. It is valid until the next start.
func (r *reader) bytes(s *slot) []byte {
	if s.own != nil {
		return s.own.Bytes()[:s.n:s.n]
	}
	return r.local.Bytes()[s.at : s.at+s.n : s.at+s.n]
}

// poll makes progress without waiting.
func (r *reader) poll() {
	r.viewEpoch++
	n := r.conn.CQ.Poll(r.comps[:])
	if n != 0 {
		r.arrival = r.clock.Now()
	}
	for i := range n {
		c := &r.comps[i]
		if c.Status != fabric.StatusOK || c.ID == onesided.EndID {
			r.revoked = c.Status == fabric.StatusRemoteAccess
			r.fail(r.conn.Reason(c))
			return
		}
		r.sqFree++
		s := &r.slots[int(c.ID)/r.stride]
		s.inFlight--
		s.reading = s.inFlight > 0 || s.posted < s.n
	}
	if n > 0 && r.backlog {
		r.resume()
	}
}

// resume posts pieces that waited for a place in the send queue.
func (r *reader) resume() {
	r.backlog = false
	for i := range r.slots {
		if s := &r.slots[i]; s.reading && s.posted < s.n {
			r.post(s)
		}
	}
	r.flush()
}

// arrived polls, and reports whether the awaited slot is complete or the connection is lost.
func (r *reader) arrived() bool {
	r.poll()
	return !r.awaited.reading || r.err != nil
}

// await posts the chain, and waits until a slot is complete. That was at r.arrival or before.
func (r *reader) await(ctx context.Context, s *slot) error {
	r.awaited = s
	r.flush()
	for s.reading && r.err == nil {
		if r.arrived() || r.conn.Waiter.Wait(r.pollf, contextInterval) {
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

// pause waits a moment. It fails if the context ends or the connection is lost.
func (r *reader) pause(ctx context.Context) error {
	r.conn.Waiter.Wait(func() bool { r.arrived(); return r.err != nil }, contextInterval)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.err
}

// drain waits until no READ is in flight.
func (r *reader) drain(ctx context.Context) error {
	for i := range r.slots {
		if err := r.await(ctx, &r.slots[i]); err != nil {
			return err
		}
	}
	return nil
}

// fail ends the connection. It keeps the first error.
func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("keli: reading from %s: %w", r.conn.QP.Peer().Addr, err)
		_ = r.conn.QP.Disconnect()
	}
}

// close ends the connection, and all READs in flight.
func (r *reader) close() {
	regions := []*fabric.Region{r.local}
	for i := range r.slots {
		regions = append(regions, r.slots[i].own)
	}
	_ = r.conn.Close(regions...)
}
