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

// NewDomain implements fabric.Device.
func (d *Device) NewDomain() (fabric.Domain, error) {
	inner, err := d.Device.NewDomain()
	if err != nil {
		return nil, err
	}
	return &domain{inner, d}, nil
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

// within turns segments of ours into those of the inner domain; the further ones,
// which belong to the caller, are copied. What is not ours, or too much, is left to
// the inner device to refuse.
func (q *queuePair) within(first *fabric.Seg, more []fabric.Seg) []fabric.Seg {
	toInner(first)
	if len(more) == 0 || len(more) > len(q.segs) {
		return more
	}
	n := copy(q.segs, more)
	for i := range n {
		toInner(&q.segs[i])
	}
	return q.segs[:n]
}

func toInner(s *fabric.Seg) {
	if s.Region != nil {
		if w, ok := s.Region.Provider().(wrapped); ok {
			s.Region = w.inner
		}
	}
}

// NewUD implements fabric.Domain.
func (m *domain) NewUD(cfg fabric.QPConfig) (fabric.QP, error) {
	cfg.Domain = m // what the program says there is ignored
	return m.dev.makeQP(cfg, m.Domain.NewUD)
}

// handle is a destination. Messages that are held when it is closed are lost.
type handle struct {
	fabric.AddressHandle // the inner one
	closed               bool
}

// NewAddressHandle implements fabric.Domain.
func (m *domain) NewAddressHandle(ctx context.Context, addr []byte) (fabric.AddressHandle, error) {
	inner, err := m.Domain.NewAddressHandle(ctx, addr)
	if err != nil {
		return nil, err
	}
	return &handle{AddressHandle: inner}, nil
}

// Close implements fabric.AddressHandle.
func (h *handle) Close() error {
	if h.closed {
		return fmt.Errorf("faults: address handle: %w", fabric.ErrClosed)
	}
	h.closed = true
	return h.AddressHandle.Close()
}
