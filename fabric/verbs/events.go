//go:build rdma

package verbs

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
)

// eventReader hears the asynchronous events of the adapter.
type eventReader struct {
	file *os.File
	done chan struct{}
	// down is the event by which the port went down, empty while it is up. It belongs to the goroutine.
	down string
}

// readEvents begins to hear events. The runtime's poller waits on a duplicate
// of the descriptor, so that no thread is blocked.
func (d *Device) readEvents() (*eventReader, error) {
	fd, err := unix.FcntlInt(uintptr(d.adapter.Load().ctx.asyncFD()), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("asynchronous events: %w (check the limit of open files: ulimit -n)", err)
	}
	r := &eventReader{file: os.NewFile(uintptr(fd), "rdma events"), done: make(chan struct{})}
	raw, err := r.file.SyscallConn()
	if err != nil {
		_ = r.file.Close()
		return nil, fmt.Errorf("asynchronous events: %w", err)
	}
	go func() {
		defer close(r.done)
		for {
			var ev hwEvent
			var q *QP
			var err error
			closed := raw.Read(func(uintptr) bool {
				ev, q, err = d.nextEvent()
				return !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR)
			})
			switch {
			case errors.Is(closed, os.ErrDeadlineExceeded):
				r.portIsLate(d)
			case closed != nil || err != nil:
				return
			default:
				d.happened(r, ev, q)
			}
		}
	}()
	return r, nil
}

// nextEvent takes an event and finds the queue pair that it is about. It does
// both under the lock: an adapter that has freed a queue pair has no events of
// it any more, and its number has not gone to another one in between.
func (d *Device) nextEvent() (hwEvent, *QP, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ev, err := d.adapter.Load().ctx.event()
	if err != nil {
		return ev, nil, err
	}
	return ev, d.qps[ev.qpn], nil
}

// stop ends the reading.
func (r *eventReader) stop() {
	_ = r.file.Close()
	<-r.done
}

// happened acts on an event: it makes it an error of the queue pairs that it concerns, or looks
// at the port again. q is the queue pair that it names, if it does.
func (d *Device) happened(r *eventReader, ev hwEvent, q *QP) {
	name := eventName(ev.kind)
	switch ev.kind {
	case eventQPFatal, eventQPRequest, eventQPAccess, eventPathMigErr:
		if q != nil {
			q.breakDown(fmt.Errorf("fabric: queue pair %d: the adapter says: %s: %w", q.num, name, fabric.ErrProtocol), byeFault)
		}
	case eventCQ:
		for _, q := range d.openQPs() {
			if q.send.hw.cq == ev.cq || q.recv.hw.cq == ev.cq {
				q.breakDown(fmt.Errorf("fabric: queue pair %d: the adapter says: %s: %w", q.num, name, fabric.ErrCompletion), byeOver)
			}
		}
	case eventDeviceFatal:
		d.lose(name, func(*QP) bool { return true })
	}
	if ev.port != d.adapter.Load().choice.Port {
		return
	}
	switch ev.kind {
	case eventPortDown:
		r.portDown(d, name)
	case eventPortActive:
		r.portUp(d)
		d.refresh()
	case eventGIDChange, eventLIDChange, eventPKeyChange, eventSMChange, eventReregister:
		if r.down == "" { // otherwise when it returns
			d.refresh()
		}
	}
}

// lose breaks queue pairs whose peers cannot be reached any more.
func (d *Device) lose(name string, which func(q *QP) bool) {
	for _, q := range d.openQPs() {
		if which(q) {
			q.breakDown(fmt.Errorf("fabric: queue pair %d: device %s, port %d: %s: %w",
				q.num, d.Name(), d.adapter.Load().choice.Port, name, fabric.ErrPeerLost), byeOver)
		}
	}
}
