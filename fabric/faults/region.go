package faults

import (
	"context"
	"fmt"

	"github.com/remora-kv/remora/fabric"
)

// domain is a protection domain.
type domain struct {
	fabric.Domain // the inner one
	dev           *Device
}

// wrapped is the provider's part of a region: the region of the inner domain
// with the same memory.
type wrapped struct{ inner *fabric.Region }

// Alloc implements fabric.Domain.
func (m *domain) Alloc(purpose string, size int, access fabric.Access) (*fabric.Region, error) {
	r, err := m.Domain.Alloc(purpose, size, access)
	if err != nil {
		return nil, err
	}
	return fabric.NewRegion(fabric.RegionParams{
		Mem: r.Bytes(), Addr: r.Remote().Addr, Key: r.Remote().Key, Access: r.Access(),
		Domain: m, Close: r.Close, Provider: wrapped{r},
	}), nil
}

// within turns a segment of ours into one of the inner domain. What is not
// ours is left to the inner device to refuse.
func within(s *fabric.Seg) {
	if s.Region == nil {
		return
	}
	if w, ok := s.Region.Provider().(wrapped); ok {
		s.Region = w.inner
	}
}

// withinAll does it for the segments of a request. The further ones, which
// belong to the caller, are copied to room; when they do not fit there are more
// than the device takes, and it will say so.
func withinAll(first *fabric.Seg, more *[]fabric.Seg, room []fabric.Seg) {
	within(first)
	if len(*more) == 0 || len(*more) > len(room) {
		return
	}
	*more = room[:copy(room, *more):len(room)]
	for i := range *more {
		within(&(*more)[i])
	}
}

// NewUD implements fabric.Domain.
func (m *domain) NewUD(cfg fabric.QPConfig) (fabric.QP, error) {
	cfg.Domain = m // what the program says there is not looked at
	return m.dev.makeQP(cfg, m.Domain.NewUD)
}

// NewAddressHandle implements fabric.Domain.
func (m *domain) NewAddressHandle(ctx context.Context, addr []byte) (fabric.AddressHandle, error) {
	inner, err := m.Domain.NewAddressHandle(ctx, addr)
	if err != nil {
		return nil, err
	}
	return &handle{inner: inner}, nil
}

// handle is a destination. It outlives its Close while copies of messages to
// it are held, of which the program knows nothing (F3). It belongs to its
// owner (T1).
type handle struct {
	inner  fabric.AddressHandle
	held   int
	closed bool
}

// Close implements fabric.AddressHandle.
func (h *handle) Close() error {
	if h.closed {
		return fmt.Errorf("faults: address handle: %w", fabric.ErrClosed)
	}
	h.closed = true
	if h.held > 0 {
		return nil
	}
	return h.inner.Close()
}

// release ends the use of the handle by one copy.
func (h *handle) release() {
	if h == nil {
		return
	}
	if h.held--; h.held == 0 && h.closed {
		// Nobody is left to be told of an error.
		_ = h.inner.Close()
	}
}

// destination returns the inner handle of a datagram, and ours. One that is
// not ours is left to the inner device to refuse.
func destination(to fabric.AddressHandle) (fabric.AddressHandle, *handle) {
	if h, ok := to.(*handle); ok {
		return h.inner, h
	}
	return to, nil
}
