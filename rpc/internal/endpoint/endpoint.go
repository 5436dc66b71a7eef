// Package endpoint is what the ends of all connections have in common: what they are made of, why
// they ended, and the order in which they are closed.
//
// The connections of all paths have an Endpoint. It makes the objects that a connection needs on its device and
// remembers it for Close. What is called for every message, a connection calls by itself: it posts to
// QP, and polls the completion queues that it got. An Endpoint belongs to one goroutine at a time.
package endpoint

import (
	"context"
	"errors"
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
)

// Endpoint is the client's end of a connection.
type Endpoint struct {
	Dev    fabric.Device
	Clock  fabric.Clock
	Domain fabric.Domain // nil before Open and after Close
	QP     fabric.QP     // the one connected with the server
	Peer   string        // what Err calls the server
	Err    error         // why the connection is over, nil while it is not

	path string
	qps  []fabric.QP
	rest []interface{ Close() error } // in the order in which they were made
}

// Open makes the domain. path is for errors.
func (e *Endpoint) Open(path string, dev fabric.Device) (err error) {
	e.path, e.Dev, e.Clock = path, dev, dev.Clock()
	e.Domain, err = dev.NewDomain()
	return err
}

// NewCQ makes a completion queue.
func (e *Endpoint) NewCQ(depth int) (fabric.CQ, error) {
	cq, err := e.Dev.NewCQ(depth)
	if err == nil {
		e.rest = append(e.rest, cq)
	}
	return cq, err
}

// NewWaiter makes a waiter.
func (e *Endpoint) NewWaiter(cfg fabric.WaitConfig) (fabric.Waiter, error) {
	w, err := e.Dev.NewWaiter(cfg)
	if err == nil {
		e.rest = append(e.rest, w)
	}
	return w, err
}

// Alloc allocates memory of the domain.
func (e *Endpoint) Alloc(purpose string, size int, access fabric.Access) (*fabric.Region, error) {
	r, err := e.Domain.Alloc(purpose, size, access)
	if err == nil {
		e.rest = append(e.rest, r)
	}
	return r, err
}

// Dial connects QP with a server. cfg lacks the domain.
func (e *Endpoint) Dial(ctx context.Context, addr fabric.Addr, cfg fabric.QPConfig, hello []byte) error {
	cfg.Domain = e.Domain
	qp, err := e.Dev.Dial(ctx, addr, cfg, hello)
	if err == nil {
		e.QP, e.Peer, e.qps = qp, qp.Peer().Addr, append(e.qps, qp)
	}
	return err
}

// DialError is why a path could not connect. A fabric.DialError names the address already.
func DialError(path string, addr fabric.Addr, err error) error {
	if dial := (*fabric.DialError)(nil); errors.As(err, &dial) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return fmt.Errorf("%s: dial %v: %w", path, addr, err)
}

// NewUD makes a queue pair for datagrams.
func (e *Endpoint) NewUD(cfg fabric.QPConfig) (fabric.QP, error) {
	qp, err := e.Domain.NewUD(cfg)
	if err == nil {
		e.qps = append(e.qps, qp)
	}
	return qp, err
}

// Fail ends the connection. The first reason counts.
func (e *Endpoint) Fail(err error) {
	if e.Err == nil {
		e.Err = fmt.Errorf("%s: connection with %s: %w", e.path, e.Peer, err)
		_ = e.QP.Disconnect()
	}
}

// Broken is Fail because of a queue pair whose failure a completion reports.
func (e *Endpoint) Broken(qp fabric.QP, comp *fabric.Completion) { e.Fail(Reason(qp, comp)) }

// Close ends the connection and closes all that was made for it, other regions of the domain,
// and the domain. A second Close returns rpc.ErrClosed.
func (e *Endpoint) Close(others ...*fabric.Region) error {
	if e.Domain == nil {
		return rpc.ErrClosed
	}
	for _, qp := range e.qps { // first: they use all the rest
		_ = qp.Close()
	}
	for i := len(e.rest) - 1; i >= 0; i-- {
		_ = e.rest[i].Close()
	}
	err := Free(e.Domain, others...)
	e.Domain = nil
	if e.Err == nil {
		e.Err = rpc.ErrClosed
	}
	return err
}

// Reason returns why a queue pair failed whose failure a completion reports.
func Reason(qp fabric.QP, comp *fabric.Completion) error {
	if err := qp.Err(); err != nil {
		return err
	}
	return comp.Err()
}

// Free closes those of the regions and their domain that there are.
func Free(domain fabric.Domain, regions ...*fabric.Region) error {
	var err error
	for _, r := range regions {
		if r != nil {
			err = errors.Join(err, r.Close())
		}
	}
	if domain != nil {
		err = errors.Join(err, domain.Close())
	}
	return err
}
