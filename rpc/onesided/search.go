package onesided

import (
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/store"
)

// search is the way to one key.
type search struct {
	finder   store.Finder
	follower store.Follower // the finder, if it can follow links
	at       int            // of its buffer in the local memory
	wordAt   int            // of the result of a FETCH_ADD
	key      []byte
	hash     uint64
	want     store.Span // being read
	outcome  store.Outcome
	state    state
}

// state is the event that a search waits for.
type state uint8

const (
	reading  state = iota // for its span
	touching              // until its item is counted as used
	over                  // to be taken
)

// ConnStats are the counters of a connection.
type ConnStats struct {
	Searches, Reads, Touches uint64
	Found, Missing, Asked    uint64
}

// connStats are ConnStats that are being counted.
type connStats struct {
	searches, reads, touches atomic.Uint64
	found, missing, asked    atomic.Uint64
}

// Stats returns what the connection has done. It may be called from any goroutine.
func (c *Conn) Stats() ConnStats {
	s := &c.stats
	return ConnStats{
		Searches: s.searches.Load(), Reads: s.reads.Load(), Touches: s.touches.Load(),
		Found: s.found.Load(), Missing: s.missing.Load(), Asked: s.asked.Load(),
	}
}

// Outstanding returns how many searches were not taken.
func (c *Conn) Outstanding() int { return c.count }

// Start begins a search. The key is copied. rpc.ErrWindowFull says that outcomes have to
// be taken first.
func (c *Conn) Start(k store.Key) error {
	s, err := c.next(k)
	if err == nil {
		c.read(s, s.finder.Start(store.Key{Hash: k.Hash, Bytes: s.key}))
	}
	return err
}

// Follow begins a search for an item where it was once. For an engine
// without links the outcome is store.Ask.
func (c *Conn) Follow(k store.Key, l store.Link) error {
	s, err := c.next(k)
	switch {
	case err != nil:
		return err
	case s.follower == nil:
		c.end(s, store.Ask)
	default:
		c.read(s, s.follower.Follow(store.Key{Hash: k.Hash, Bytes: s.key}, l))
	}
	return nil
}

// next returns an unused search, for a key.
func (c *Conn) next(k store.Key) (*search, error) {
	if c.err != nil {
		return nil, c.err
	}
	if c.count == len(c.searches) {
		return nil, rpc.ErrWindowFull
	}
	i := c.first + c.count
	if i >= len(c.searches) {
		i -= len(c.searches)
	}
	c.count++
	fence.Count(&c.stats.searches, 1)
	s := &c.searches[i]
	s.key, s.hash = append(s.key[:0], k.Bytes...), k.Hash
	return s, nil
}

// read READs a span for a search (O4).
func (c *Conn) read(s *search, want store.Span) {
	if want.Area < 0 || want.Area >= len(c.table.areas) || want.Len > c.cfg.Buffer || !c.table.areas[want.Area].has(want.Off, want.Len) {
		c.end(s, store.Ask)
		return
	}
	s.want, s.state = want, reading
	fence.Count(&c.stats.reads, 1)
	w := &c.wr[0]
	w.Op, w.Flags = fabric.OpRead, fabric.FlagSignaled
	w.Local.Region, w.Local.Off, w.Local.Len = c.local, s.at, want.Len
	c.post(s, want)
}

// touches reports whether an item that was found is to be counted as used.
func (c *Conn) touches() bool {
	if c.cfg.TouchEvery == 0 {
		return false
	}
	if c.untilTouch--; c.untilTouch >= 0 {
		return false
	}
	c.untilTouch = c.cfg.TouchEvery - 1
	return true
}

// touch counts the item that was found as used.
func (c *Conn) touch(s *search) {
	want, ok := s.finder.Touch()
	by := uint64(1)
	if ok && want.Len == 1 { // a byte of a word
		by <<= 8 * uint64(want.Off&7)
		want.Off, want.Len = want.Off&^7, wordSize
	}
	if !ok || !c.table.counts(want) {
		c.end(s, store.Found)
		return
	}
	s.state = touching
	fence.Count(&c.stats.touches, 1)
	w := &c.wr[0]
	w.Op, w.Flags, w.Operand = fabric.OpFetchAdd, fabric.FlagSignaled, by
	w.Local.Region, w.Local.Off, w.Local.Len = c.local, s.wordAt, wordSize
	c.post(s, want)
}

// post posts the request that was made for a search.
func (c *Conn) post(s *search, want store.Span) {
	w := &c.wr[0]
	w.ID = uint64(s.at)
	w.Remote.Key = c.table.areas[want.Area].remote.Key
	w.Remote.Addr = c.table.areas[want.Area].remote.Addr + uint64(want.Off)
	if _, err := c.qp.Post(c.wr[:]); err != nil {
		c.fail(err)
	}
}

// end is the end of a search.
func (c *Conn) end(s *search, o store.Outcome) {
	s.state, s.outcome = over, o
	switch o {
	case store.Found:
		fence.Count(&c.stats.found, 1)
	case store.Missing:
		fence.Count(&c.stats.missing, 1)
	default:
		fence.Count(&c.stats.asked, 1)
	}
}

// Poll makes progress without waiting, and reports whether Next has an outcome or the
// connection is over.
func (c *Conn) Poll() bool {
	for c.err == nil {
		n := c.cq.Poll(c.comps[:])
		for i := range n {
			c.completed(&c.comps[i])
		}
		if n == 0 || c.ready() {
			break
		}
	}
	return c.err != nil || c.ready()
}

// completed goes on with the search that a completion is of.
func (c *Conn) completed(comp *fabric.Completion) {
	if comp.Status != fabric.StatusOK || comp.ID == EndID {
		c.fail(c.reader.Reason(comp))
		return
	}
	s := &c.searches[int(comp.ID)/(c.searches[0].wordAt+wordSize)]
	if s.state == touching {
		c.end(s, store.Found)
		return
	}
	want, outcome := s.finder.Look(c.local.Bytes()[s.at : s.at+s.want.Len : s.at+s.want.Len])
	switch {
	case outcome == store.More:
		c.read(s, want)
	case outcome == store.Found && c.touches():
		c.touch(s)
	default:
		c.end(s, outcome)
	}
}

// ready reports whether the oldest search is over (O5).
func (c *Conn) ready() bool { return c.count != 0 && c.searches[c.first].state == over }

// Next takes the outcome of the oldest search; false when there is none yet. The item of
// one that found something is valid until the next Start.
func (c *Conn) Next() (item store.Item, o store.Outcome, ok bool) {
	if !c.ready() {
		return item, o, false
	}
	s := &c.searches[c.first]
	if c.first++; c.first == len(c.searches) {
		c.first = 0
	}
	c.count--
	if s.outcome == store.Found {
		item = s.finder.Item()
	}
	return item, s.outcome, true
}

// Key returns the key of the search that was taken last, until the next Start.
func (c *Conn) Key() store.Key {
	i := c.first - 1
	if i < 0 {
		i += len(c.searches)
	}
	return store.Key{Hash: c.searches[i].hash, Bytes: c.searches[i].key}
}

// Wait waits until Next has an outcome or the connection is over, and returns true; or
// false when timeout has passed (0 means forever).
func (c *Conn) Wait(timeout time.Duration) bool {
	return c.Poll() || c.waiter.Wait(c.pollf, timeout)
}

// WaitMore waits until more says so, at most for limit, or until Wake. more polls the
// connection, and what else the caller waits for.
func (c *Conn) WaitMore(more func() bool, limit time.Duration) { c.waiter.Wait(more, limit) }

// Wake ends WaitMore. It may be called from any goroutine.
func (c *Conn) Wake() { c.waiter.Wake() }
