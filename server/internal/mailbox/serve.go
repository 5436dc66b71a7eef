package mailbox

import "github.com/remora-kv/remora/fabric"

// Step serves requests, and reports whether there were any. It implements rpc.Poller, as
// the other methods of this file.
func (b *Box) Step() bool {
	posted := b.posted.Load()
	if posted == b.done {
		return false
	}
	b.call.Now = b.cfg.Clock.Now()
	for range turn {
		if b.done == posted || b.held > Held && !b.relieved() {
			break
		}
		b.serveOne(&b.letters[b.done%Letters])
		b.done++
		b.served.Store(b.done)
	}
	b.cfg.Bell.Ring()
	return true
}

// serveOne serves a request. What the handler returns may lie anywhere until its next
// call: it is copied.
func (b *Box) serveOne(l *letter) {
	if b.freed+Letters == b.done {
		b.forget() // the letter is used again, so its result was taken
	}
	b.call.After = nil
	into := l.result.Data[:0]
	res, err := b.cfg.Serve(&b.call, l.msg, into)
	switch {
	case err != nil:
	case len(res) != 0 && cap(into) != 0 && &res[0] == &into[:1][0]:
		into = into[:len(res)] // it is there
	default:
		into = append(into, res...)
	}
	if err == nil {
		into = append(into, b.call.After...)
	}
	l.result.Data, l.result.Err, l.size = into, err, len(into)
	b.held += l.size
	if cap(l.msg) > Keep {
		l.msg = nil
	}
}

// forget takes note that the oldest result was taken.
func (b *Box) forget() {
	b.held -= b.letters[b.freed%Letters].size
	b.freed++
}

// relieved takes note of results that were taken, and reports whether others can follow.
func (b *Box) relieved() bool {
	for taken := b.taken.Load(); b.freed != taken; {
		b.forget()
	}
	return b.held <= Held
}

// Doze says that the core is about to sleep (M4).
func (b *Box) Doze() { b.asleep.Store(true) }

// Pending reports whether there is a request.
func (b *Box) Pending() bool { return b.posted.Load() != b.done }

// Empty reports whether there is none.
func (b *Box) Empty() bool { return !b.Pending() }

// Undoze says that the core does not sleep any more.
func (b *Box) Undoze() { b.asleep.Store(false) }

// Queue returns nil: a box has no queue on any device.
func (b *Box) Queue(fabric.Device) fabric.CQ { return nil }

// Reap does nothing.
func (b *Box) Reap(fabric.Device) bool { return false }

// Close does nothing: the door was closed before the core.
func (b *Box) Close() {}
