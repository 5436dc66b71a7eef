package path

import (
	"context"
	"fmt"
	"sync/atomic"

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

// reader is a one-sided reader: it gets items by READs of the memory that a core exports,
// without the core. On paths that search it tries every get, otherwise those of keys that it
// has a link for. The server is asked for what it cannot prove (P3).
type reader struct {
	conn   *onesided.Conn
	links  *linkCache  // nil on paths that search
	uses   *uses       // nil where uses are not reported
	policy *linkPolicy // nil where links are always followed
	lost   bool        // the connection goes on without the reader (P4)
	clock  fabric.Clock
	time   serverTime

	message []byte // of the get that was reserved
	length  int    // of the message of the read that was started last
	link    store.Link
	result  []byte        // of the read that was taken last
	started queries       // reads without an outcome
	proven  atomic.Uint64 // reads after which the server was not asked
}

const (
	// readBuffer is the longest span that is read. Other paths are faster for much longer
	// values.
	readBuffer = 16 << 10
	// minSpan is the room that an item takes at least.
	minSpan = 32
	// maxReadKey is the longest key that is read.
	maxReadKey = 1 << 10
)

// finders are the client's halves of engines, by the names of these.
var finders = map[string]func(layout []byte) (store.Finder, error){
	"mica":   mica.NewFinder,
	"cuckoo": finder(cuckoo.NewFinder),

	"hopscotch":     finder(hopscotch.NewFinder),
	"hopscotch-var": finder(hopscotch.NewFinder),
	"slots":         finder(slots.NewFinder),
}

// finder gives a constructor of finders the type that finders has.
func finder[F store.Finder](newFinder func(layout []byte) (F, error)) func([]byte) (store.Finder, error) {
	return func(layout []byte) (store.Finder, error) {
		f, err := newFinder(layout)
		if err != nil {
			return nil, err
		}
		return f, nil
	}
}

// newReader connects with the memory of the core whose welcome is w, which was asked for when
// our clock showed asked.
func (d *Dialer) newReader(ctx context.Context, cfg *Config, window int, w *command.Welcome, asked int64) (*reader, error) {
	newFinder := finders[w.Engine]
	if newFinder == nil {
		return nil, fmt.Errorf("%w: this client cannot read items of engine %s", ErrUnsupported, w.Engine)
	}
	conn, err := onesided.Dial(ctx, d.Addr, onesided.ConnConfig{
		Device: d.Device, Table: w.Core, NewFinder: newFinder, Window: window, Buffer: readBuffer,
		TouchEvery: cfg.countEvery(), Policy: fabric.PolicyOf(cfg.Busy),
	})
	if err != nil {
		return nil, err
	}
	if conn.Instance() != w.Instance || conn.Tables() != w.Cores {
		_ = conn.Close()
		return nil, errRestarted
	}
	r := &reader{
		conn: conn, clock: d.Clock, time: serverTime{now: w.Now, since: asked},
		message: make([]byte, rpc.ProcSize+maxReadKey, rpc.ProcSize+maxReadKey+maxUsesSize),
		result:  make([]byte, 0, readBuffer+command.FoundSize),
	}
	if !cfg.Path.Searches() {
		r.addLinks(int(min(int64(cfg.Links), max(conn.Exported()/minSpan, 1))), cfg.AutoLinks)
		if cfg.ReportUses {
			r.uses = newUses(d.Clock)
		}
	}
	return r, nil
}

// addLinks makes room for n links, and for few at first if there is a link policy.
func (r *reader) addLinks(n int, policy bool) {
	first := n
	if policy {
		r.policy, first = new(linkPolicy), min(n, firstAutoLinks)
	}
	r.links = newLinkCache(first, n)
}

// takes reports whether the reader tries a get, whose message has n bytes.
func (r *reader) takes(op command.Proc, hash uint64, n int) bool {
	if op != command.Get || n > len(r.message) {
		return false
	}
	if r.links == nil {
		return true
	}
	age := r.links.find(hash, &r.link)
	known := age != nil
	if known {
		r.uses.used(hash, age)
	}
	r.policy.looked(known, r.links)
	return known && !r.uses.due()
}

// full reports whether nothing can be started before an outcome was taken.
func (r *reader) full() bool { return r.conn.Outstanding() == r.conn.Window() || r.mustTake() }

// mustTake reports whether an outcome has to be taken before any operation is started: with a
// link policy at most one read is in flight.
func (r *reader) mustTake() bool { return r.policy != nil && r.conn.Outstanding() != 0 }

// wantsHash reports whether the next operation may follow a link, or has to wait for a read.
func (r *reader) wantsHash() bool {
	p := r.policy
	return p == nil || !r.lost && (p.alone >= aloneBefore && p.rest == 0 || r.conn.Outstanding() != 0)
}

// failed reports whether nothing can be read any more, where the connection goes on (P4).
func (r *reader) failed() bool { return r.policy != nil && r.conn.Err() != nil }

// start starts to read the item of the message that was reserved.
func (r *reader) start(hash uint64, n int) error {
	k := store.Key{Hash: hash, Bytes: r.message[rpc.ProcSize:n]}
	var err error
	if r.links != nil {
		err = r.conn.Follow(k, r.link)
	} else {
		err = r.conn.Start(k)
	}
	if err == nil {
		r.started.push(query{hash, command.Get})
		r.length = n
	}
	return err
}

// next takes the outcome of the oldest read, in the form of a result of the server; ask says
// that the server has to be asked.
func (r *reader) next() (result []byte, ask, ok bool) {
	if !r.conn.Poll() {
		return nil, false, false
	}
	item, o, ok := r.conn.Next()
	if !ok {
		return nil, false, false
	}
	ttl := int64(0)
	if o == store.Found && item.Expires != 0 {
		if ttl = r.time.left(item.Expires, r.clock.Now()); ttl <= 0 {
			o = store.Ask // it may have expired
		}
	}
	q := r.started.pop()
	switch {
	case o == store.Found:
		fence.Count(&r.proven, 1)
		r.result = append(r.result[:0], item.Value...)
		return command.AppendTrailer(r.result, item.Version, uint64(ttl), item.Flags), false, true
	case q.op == command.Follow:
		return command.AppendStatus(r.result[:0], command.Changed), false, true
	case o == store.Missing:
		fence.Count(&r.proven, 1)
		return command.AppendStatus(r.result[:0], command.NotFound), false, true
	}
	r.policy.missed()
	return nil, true, true
}

// request is the message that asks the server for the item of the read that was taken last.
func (r *reader) request() []byte {
	p := r.proc()
	b := append(append(r.message[:0], byte(p), byte(p>>8)), r.conn.Key().Bytes...)
	if p == command.Link {
		b = r.uses.appendTo(b)
	}
	return b
}

// proc is the procedure that gets an item from the server, with its link or the time where they are
// wanted.
func (r *reader) proc() command.Proc {
	if r.links != nil || r.time.wanted() {
		return command.Link
	}
	return command.Get
}

// changes notes a put before it is sent: its message, the end of which may be the value alone.
func (r *reader) changes(hash uint64, arg, value []byte) {
	put, err := command.ParsePut(arg)
	if err == nil && len(value) == 0 {
		value = put.Value
	} else if len(put.Value) != 0 {
		r.links.drop(hash) // the value is in two pieces
		return
	}
	r.links.changes(hash, value, put.Flags)
}

// learn takes what an answer says about links: of a get that asked for one, and of a put. An
// item that was put is mostly where it was, and a reader notices when it is not.
func (r *reader) learn(q query, result []byte) {
	switch q.op {
	case command.Link:
		r.learnLink(q.hash, result)
	case command.Put:
		if version, status, err := command.ParseStored(result); err == nil && status == command.OK {
			r.links.setVersion(q.hash, version)
		}
	default:
	}
}

func (r *reader) learnLink(hash uint64, result []byte) {
	l, at, ok := linkIn(result)
	r.time.learn(at)
	if ok {
		r.links.add(hash, l, r.uses.now())
		r.uses.setCapacity(r.conn.Exported() / int64(max(l.Span.Len, 1)))
	} else {
		r.links.drop(hash)
	}
}
