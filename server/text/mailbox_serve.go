package text

import "github.com/remora-kv/remora/fabric"

// Step serves requests, and reports whether there were any. It implements rpc.Poller, as
// the other methods of this file.
func (b *mailbox) Step() bool {
	posted := b.posted.Load()
	if posted == b.done {
		return false
	}
	b.call.Now = b.listener.cfg.Clock.Now()
	for range batch {
		if b.done == posted || b.held > maxUntaken && !b.relieved() {
			break
		}
		b.serveOne(&b.ring[b.done%mailboxSize])
		b.done++
		b.served.Store(b.done)
	}
	b.listener.waker.notify()
	return true
}

// serveOne serves a request. What the handler returns may lie anywhere until its next
// call: it is copied.
func (b *mailbox) serveOne(m *message) {
	if b.freed+mailboxSize == b.done {
		b.forget() // the message is used again, so its result was taken
	}
	b.call.After = nil
	into := m.result.data[:0]
	res, err := b.listener.cfg.Serve(&b.call, m.request, into)
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
	m.result.data, m.result.err, m.size = into, err, len(into)
	b.held += m.size
	if cap(m.request) > keepMessage {
		m.request = nil
	}
}

// forget takes note that the oldest result was taken.
func (b *mailbox) forget() {
	b.held -= b.ring[b.freed%mailboxSize].size
	b.freed++
}

// relieved takes note of results that were taken, and reports whether others can follow.
func (b *mailbox) relieved() bool {
	for taken := b.taken.Load(); b.freed != taken; {
		b.forget()
	}
	return b.held <= maxUntaken
}

// BeforeSleep says that the core is about to sleep (M4).
func (b *mailbox) BeforeSleep() { b.core.beforeSleep() }

// Pending reports whether there is a request.
func (b *mailbox) Pending() bool { return b.posted.Load() != b.done }

// Empty reports whether there is none.
func (b *mailbox) Empty() bool { return !b.Pending() }

// AfterSleep says that the core does not sleep any more.
func (b *mailbox) AfterSleep() { b.core.afterSleep() }

// Queue returns nil: a mailbox has no queue on any device.
func (b *mailbox) Queue(fabric.Device) fabric.CQ { return nil }

// Reap does nothing.
func (b *mailbox) Reap(fabric.Device) bool { return false }

// Close does nothing: the listener was closed before the core.
func (b *mailbox) Close() {}
