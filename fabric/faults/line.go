package faults

import "github.com/remora-kv/remora/fabric"

// What becomes of a request in line.
const (
	waitSend = iota
	waitSkip // nothing: it was struck by something else
	waitLate // it lets others overtake
)

// waiting is a UC request that has not been sent.
type waiting struct {
	wr   fabric.WR
	kind uint8
	due  int64 // not to be sent before
	by   uint64
	wait int64 // how long it waits to be overtaken
}

// line is where the requests of a UC queue pair wait: all behind one that is
// delayed, in their order, and one that lets others overtake.
type line struct {
	q     *queuePair
	items []waiting
	segs  []fabric.Seg
	// inline takes the data of inline requests (F5).
	inline *fabric.Region

	// blocked: the requests from first on are in line.
	blocked bool
	first   uint64
	// late is the request that lets others overtake, until lateDue or until
	// operation turn of the queue pair has gone.
	hasLate bool
	late    uint64
	lateDue int64
}

func newLine(q *queuePair) (*line, error) {
	n := len(q.ring)
	l := &line{
		q: q, items: make([]waiting, n),
		segs: make([]fabric.Seg, n*q.perWR),
	}
	if q.dev.limits.MaxInline == 0 {
		return l, nil
	}
	var err error
	l.inline, err = q.domain.Domain.Alloc("faults", n*q.dev.limits.MaxInline, 0)
	return l, err
}

func (l *line) close() error {
	if l.inline == nil {
		return nil
	}
	return l.inline.Close()
}

func (l *line) slot(seq uint64) int { return int(seq & uint64(len(l.items)-1)) }

func (l *line) at(seq uint64) *waiting { return &l.items[l.slot(seq)] }

func (l *line) holding() bool { return l.blocked || l.hasLate }

// strike does what a rule that holds messages says to a request that has
// entered.
func (l *line) strike(w *fabric.WR, r *rule, seq uint64, e *entry) {
	if r.Fault == Delay {
		l.add(w, seq, e, l.q.dev.clock.Now()+int64(r.Time))
		return
	}
	l.save(w, seq, e)
	it := l.at(seq)
	it.kind, it.by, it.wait = waitLate, uint64(r.By), int64(r.Time)
	if !l.blocked {
		l.putLate(seq)
	}
	l.q.hold()
}

// add puts a request in line.
func (l *line) add(w *fabric.WR, seq uint64, e *entry, due int64) {
	l.save(w, seq, e)
	it := l.at(seq)
	it.kind, it.due = waitSend, due
	if !l.blocked {
		l.blocked, l.first = true, seq
	}
	l.q.hold()
}

// save copies what Post does not let us keep: the request, its segments and
// inline data.
func (l *line) save(w *fabric.WR, seq uint64, e *entry) {
	e.waits = true
	i := l.slot(seq)
	it := &l.items[i]
	it.wr = *w
	inside(&it.wr, seq, l.segs[i*l.q.perWR:(i+1)*l.q.perWR])
	if e.bytes == 0 {
		it.wr.Local, it.wr.More = fabric.Seg{}, nil
		return
	}
	if w.Flags&fabric.FlagInline == 0 {
		return
	}
	size := l.q.dev.limits.MaxInline
	mem := l.inline.Bytes()[i*size : (i+1)*size]
	n := copy(mem, w.Local.Bytes())
	for k := range w.More {
		n += copy(mem[n:], w.More[k].Bytes())
	}
	it.wr.Local, it.wr.More = l.inline.Seg(i*size, n), nil
}

// putLate lets others overtake request seq.
func (l *line) putLate(seq uint64) {
	it := l.at(seq)
	l.hasLate, l.late = true, seq
	l.lateDue = l.q.dev.clock.Now() + it.wait
	l.q.turn = seq + it.by
}

// advance sends what is due, in order. When the queue pair has broken that is
// everything: the inner one flushes it (G11), and nobody waits for it.
func (l *line) advance(now int64) {
	if l.q.QP.State() != fabric.StateReady {
		now = never
	}
	for l.blocked {
		if l.first == l.q.tail {
			l.blocked = false
			break
		}
		it := l.at(l.first)
		if it.kind == waitSend && it.due > now {
			break
		}
		switch it.kind {
		case waitSend:
			l.dispatch(l.first)
		case waitLate:
			l.putLate(l.first)
		}
		l.first++
		if l.first > l.q.turn {
			l.overtaken()
		}
	}
	if l.hasLate && l.lateDue <= now {
		l.overtaken()
	}
}

// overtaken sends the request that let others go first.
func (l *line) overtaken() {
	l.hasLate, l.q.turn = false, noTurn
	l.dispatch(l.late)
}

// dispatch sends a request, unless the link is cut meanwhile.
func (l *line) dispatch(seq uint64) {
	e, it := l.q.entry(seq), l.at(seq)
	if l.q.dev.cut.Load() {
		e.waits = false
		l.q.countLost(e.op, int(e.bytes))
		return
	}
	l.q.one[0] = it.wr
	l.q.passOne(e)
}

// next returns when the first request is due, after now.
func (l *line) next(now int64) int64 {
	at := int64(never)
	if l.blocked && l.first != l.q.tail {
		if due := l.at(l.first).due; due > now {
			at = due
		}
	}
	if l.hasLate && l.lateDue > now {
		at = min(at, l.lateDue)
	}
	return at
}
