package text

import "github.com/remora-kv/remora/fabric"

// Step serves requests, and reports whether there were any. It implements rpc.Poller, like
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

// Flush does nothing: requests are served when they are found.
func (b *mailbox) Flush() bool { return false }

// serveOne serves a request. It copies the handler's result, which is valid only until the next
// call.
func (b *mailbox) serveOne(m *message) {
	if b.freed+mailboxSize == b.done {
		b.forget() // this message is reused, so its old result was taken
	}
	b.call.After = nil
	into := m.result.data[:0]
	res, err := b.listener.cfg.Serve(&b.call, m.request, into)
	m.result.tooLong = 0
	switch n := len(res) + len(b.call.After); {
	case err != nil:
	case n > m.room:
		m.result.tooLong, m.result.request = n, m.request
		b.call.After = nil
	case len(res) != 0 && cap(into) != 0 && &res[0] == &into[:1][0]:
		into = into[:len(res)] // the result is already in place
	default:
		into = append(into, res...)
	}
	if err == nil {
		into = append(into, b.call.After...)
	}
	m.result.data, m.result.err, m.size = into, err, len(into)
	b.held += m.size
}

// forget uncounts the oldest result, which was taken.
func (b *mailbox) forget() {
	b.held -= b.ring[b.freed%mailboxSize].size
	b.freed++
}

// relieved uncounts the results that were taken, and reports whether there is room for more.
func (b *mailbox) relieved() bool {
	for taken := b.taken.Load(); b.freed != taken; {
		b.forget()
	}
	return b.held <= maxUntaken
}

// BeforeSleep announces that the core is about to sleep (M4).
func (b *mailbox) BeforeSleep() { b.core.beforeSleep() }

// Pending reports whether there is a request.
func (b *mailbox) Pending() bool { return b.posted.Load() != b.done }

// Empty reports whether there is no request.
func (b *mailbox) Empty() bool { return !b.Pending() }

// AfterSleep announces that the core is awake.
func (b *mailbox) AfterSleep() { b.core.afterSleep() }

// Queue returns nil: a mailbox uses no completion queue.
func (b *mailbox) Queue(fabric.Device) fabric.CQ { return nil }

// Reap does nothing, and returns false.
func (b *mailbox) Reap(fabric.Device) bool { return false }

// Close does nothing: the listener was closed before the core.
func (b *mailbox) Close() {}
