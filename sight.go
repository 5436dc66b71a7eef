package remora

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/onesided"
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/cuckoo"
	"github.com/remora-kv/remora/store/hopscotch"
	"github.com/remora-kv/remora/store/mica"
	"github.com/remora-kv/remora/store/slots"
)

// sight is how a connection with a core gets items without it: by READs of the memory
// that the server exports. On the paths that search, every get is tried this way; else
// those of keys that there is a link for. What cannot be told so the server is asked for.
type sight struct {
	conn  *onesided.Conn
	links *linkCache // nil on paths that search
	uses  *uses      // nil where the server is not told
	habit *habit     // nil where links are always used
	gone  bool       // it was lost, and the connection goes on without
	clock fabric.Clock
	// The server's time was now milliseconds, at since on the clock or later.
	now, since int64

	message []byte // of the get that was reserved
	length  int    // of the message of the search that was begun last
	link    store.Link
	result  []byte  // what came of the search that was taken last
	begun   queries // searches without an outcome
	seen    atomic.Uint64
}

// sightBuffer is the longest span that is read. Values that are much longer have a
// better way.
const sightBuffer = 16 << 10

// leastSpan is what an item takes at least.
const leastSpan = 32

// sightKey is the longest key that is looked for.
const sightKey = 1 << 10

// finders are the client's halves of engines, by the names of these.
var finders = map[string]func(layout []byte) (store.Finder, error){
	"mica":   mica.NewFinder,
	"cuckoo": finder(cuckoo.NewFinder),

	"hopscotch":     finder(hopscotch.NewFinder),
	"hopscotch-var": finder(hopscotch.NewFinder),
	"slots":         finder(slots.NewFinder),
}

// finder makes what makes the finders of an engine one of those.
func finder[F store.Finder](fresh func(layout []byte) (F, error)) func([]byte) (store.Finder, error) {
	return func(layout []byte) (store.Finder, error) {
		f, err := fresh(layout)
		if err != nil {
			return nil, err
		}
		return f, nil
	}
}

// dialSight connects with the memory of the core of c, whose server has welcomed us:
// asked, on the clock, is when it was asked for that.
func (c *coreConn) dialSight(ctx context.Context, d *dialer, cfg *config, w *command.Welcome, asked int64) error {
	newFinder := finders[w.Engine]
	if newFinder == nil {
		return fmt.Errorf("%w: this client cannot read items of engine %s", ErrUnsupported, w.Engine)
	}
	conn, err := onesided.Dial(ctx, d.addr, onesided.ConnConfig{
		Device: d.device, Table: w.Core, NewFinder: newFinder, Window: c.rfp.Window(), Buffer: sightBuffer,
		TouchEvery: cfg.touchEvery(), Policy: cfg.policy,
	})
	if err != nil {
		return err
	}
	if conn.Instance() != w.Instance || conn.Tables() != w.Cores {
		_ = conn.Close()
		return errMoved
	}
	c.sight = &sight{
		conn: conn, clock: d.clock, now: w.Now, since: asked, message: make([]byte, rpc.ProcSize+sightKey, rpc.ProcSize+sightKey+usesRoom),
		result: make([]byte, 0, sightBuffer+command.FoundSize),
	}
	if !cfg.path.searches() {
		c.sight.remember(int(min(int64(cfg.links), max(conn.Exported()/leastSpan, 1))), cfg.habitual)
		if cfg.recency == RecencyBatched {
			c.sight.uses = newUses(d.clock)
		}
	}
	return nil
}

// remember makes room for so many links; where that is up to the habits of who uses them,
// for few at first.
func (s *sight) remember(links int, habitual bool) {
	first := links
	if habitual {
		s.habit, first = new(habit), min(links, habitFirst)
	}
	s.links = newLinkCache(first, links)
}

// takes reports whether a get of n bytes with its procedure is tried here.
func (s *sight) takes(op command.Proc, hash uint64, n int) bool {
	if op != command.Get || n > len(s.message) {
		return false
	}
	if s.links == nil {
		return true
	}
	age := s.links.find(hash, &s.link)
	known := age != nil
	if known {
		s.uses.used(hash, age)
	}
	s.habit.looked(known, s.links)
	return known && !s.uses.due()
}

// full reports whether nothing can be looked for until an outcome was taken.
func (s *sight) full() bool { return s.conn.Outstanding() == s.conn.Window() || s.mustTake() }

// mustTake reports whether an outcome has to be taken before anything else is begun: where there
// are habits one search is on its way at most.
func (s *sight) mustTake() bool { return s.habit != nil && s.conn.Outstanding() != 0 }

// wantsHash reports whether the next operation may use a link, or has to wait for one.
func (s *sight) wantsHash() bool {
	h := s.habit
	return h == nil || !s.gone && (h.lone >= habitLone && h.rest == 0 || s.conn.Outstanding() != 0)
}

// lost reports whether nothing can be read any more, where that is no loss of the connection.
func (s *sight) lost() bool { return s.habit != nil && s.conn.Err() != nil }

// start begins to look for the key of the message that was reserved.
func (s *sight) start(hash uint64, n int) error {
	k := store.Key{Hash: hash, Bytes: s.message[rpc.ProcSize:n]}
	var err error
	if s.links != nil {
		err = s.conn.Chase(k, s.link)
	} else {
		err = s.conn.Start(k)
	}
	if err == nil {
		s.begun.push(query{hash, command.Get})
		s.length = n
	}
	return err
}

// next takes what came of the oldest search, as a result of the server; ask says that
// the server has to be asked.
func (s *sight) next() (result []byte, ask, ok bool) {
	if !s.conn.Poll() {
		return nil, false, false
	}
	item, o, ok := s.conn.Next()
	if !ok {
		return nil, false, false
	}
	ttl := int64(0)
	if o == store.Found && item.Expires != 0 {
		if ttl = item.Expires - s.latest() + 1; ttl <= 1 {
			o = store.Ask // it has expired, or will in a moment
		}
	}
	q := s.begun.pop()
	switch {
	case o == store.Found:
		fence.Count(&s.seen, 1)
		s.result = append(s.result[:0], item.Value...)
		return command.AppendTrailer(s.result, item.Version, uint64(ttl), item.Flags), false, true
	case q.op == opChase:
		return command.AppendStatus(s.result[:0], command.Changed), false, true
	case o == store.Missing:
		fence.Count(&s.seen, 1)
		return command.AppendStatus(s.result[:0], command.NotFound), false, true
	}
	s.habit.vain()
	return nil, true, true
}

// latest is a time that the server's clock has not passed. Clocks that drift apart by
// less than one in 4096 do no harm.
func (s *sight) latest() int64 {
	passed := s.clock.Now() - s.since
	return s.now + (passed+passed>>12)/int64(time.Millisecond) + 1
}

// request is the get of the search that was taken last, as the server is asked it.
func (s *sight) request() []byte {
	p := s.proc()
	b := append(append(s.message[:0], byte(p), byte(p>>8)), s.conn.Key().Bytes...)
	if p == command.Link {
		b = s.uses.appendTo(b)
	}
	return b
}

// proc is what the server is asked for.
func (s *sight) proc() command.Proc {
	if s.links != nil {
		return command.Link
	}
	return command.Get
}

// learn takes what an answer says about links: of a get that asked for one, and of a put.
// An item that was put is mostly where it was, and when it is not, that is found out.
func (s *sight) learn(q query, result []byte) {
	switch q.op {
	case command.Link:
		s.learnPlace(q.hash, result)
	case command.Put:
		if version, status, err := command.ParseStored(result); err == nil && status == command.OK {
			s.links.renew(q.hash, version)
		}
	default:
	}
}

func (s *sight) learnPlace(hash uint64, result []byte) {
	if at, ok := placeIn(result); ok {
		s.links.add(hash, at, s.uses.now())
		s.uses.turns(s.conn.Exported() / int64(max(at.Span.Len, 1)))
	} else {
		s.links.drop(hash)
	}
}
