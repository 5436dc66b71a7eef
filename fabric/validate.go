package fabric

import (
	"errors"
	"fmt"
)

// ValidateWR says what is wrong with a work request in itself, before any
// state of the queue pair is looked at. It is for providers, whose Post calls
// it for each request and wraps the result in a PostError. It allocates only
// when something is wrong.
func ValidateWR(w *WR, t Transport, d Domain, lim *Limits) error {
	if !t.Allows(w.Op) {
		return fmt.Errorf("%v on %v: %w", w.Op, t, ErrUnsupported)
	}
	if len(w.More) != 0 {
		return validateMany(w, t, d, lim)
	}
	n := w.Local.Len
	if badSeg(&w.Local, d) {
		return segError(&w.Local, d)
	}
	if w.Op == OpSend || w.Op == OpWrite {
		if w.Flags&FlagInline == 0 || n <= lim.MaxInline {
			if t != UD && n <= lim.MaxMessage {
				return nil
			}
		}
	}
	return validateRest(w, t, n, lim)
}

func validateMany(w *WR, t Transport, d Domain, lim *Limits) error {
	if 1+len(w.More) > lim.MaxSegs {
		return fmt.Errorf("%d segments, the queue pair takes %d: %w", 1+len(w.More), lim.MaxSegs, ErrInvalid)
	}
	if err := validateSegs(w.Local, w.More, d); err != nil {
		return err
	}
	return validateRest(w, t, w.Bytes(), lim)
}

// validateRest checks what depends on the total length n.
func validateRest(w *WR, t Transport, n int, lim *Limits) error {
	switch {
	case t == UD && n > lim.MTU:
		return fmt.Errorf("datagram of %d bytes, the MTU is %d: %w", n, lim.MTU, ErrInvalid)
	case t == UD && w.To == nil:
		return fmt.Errorf("datagram without a destination: %w", ErrInvalid)
	case n > lim.MaxMessage:
		return fmt.Errorf("%v of %d bytes, the limit is %d: %w", w.Op, n, lim.MaxMessage, ErrInvalid)
	case w.Flags&FlagInline != 0 && (w.Op == OpRead || w.Op.Atomic()):
		return fmt.Errorf("inline %v: %w", w.Op, ErrInvalid)
	case w.Flags&FlagInline != 0 && n > lim.MaxInline:
		return fmt.Errorf("%d bytes inline, the limit is %d: %w", n, lim.MaxInline, ErrInvalid)
	case w.Op.Atomic() && !lim.Atomics:
		return fmt.Errorf("%v on this device: %w", w.Op, ErrUnsupported)
	case w.Op.Atomic() && (len(w.More) != 0 || n != 8 || w.Local.Off%8 != 0 || w.Remote.Addr%8 != 0):
		return fmt.Errorf("%v needs 8 aligned bytes at both ends: %w", w.Op, ErrInvalid)
	}
	return nil
}

// ValidateRecv says what is wrong with a receive.
func ValidateRecv(w *RecvWR, d Domain, lim *Limits) error {
	if 1+len(w.More) > lim.MaxSegs {
		return fmt.Errorf("%d segments, the queue pair takes %d: %w", 1+len(w.More), lim.MaxSegs, ErrInvalid)
	}
	return validateSegs(w.Local, w.More, d)
}

func validateSegs(first Seg, more []Seg, d Domain) error {
	if badSeg(&first, d) {
		return segError(&first, d)
	}
	for i := range more {
		if badSeg(&more[i], d) {
			return segError(&more[i], d)
		}
	}
	return nil
}

func badSeg(s *Seg, d Domain) bool {
	if s.Len == 0 {
		return false
	}
	r := s.Region
	return r == nil || s.Off < 0 || s.Len < 0 || s.Off > len(r.mem)-s.Len || r.domain != d
}

// segError says what is wrong with a segment that badSeg refuses.
func segError(s *Seg, d Domain) error {
	switch {
	case s.Region == nil:
		return fmt.Errorf("segment of %d bytes without a region: %w", s.Len, ErrInvalid)
	case s.Region.domain != d:
		return fmt.Errorf("segment in a region of another protection domain: %w", ErrInvalid)
	}
	return fmt.Errorf("segment [%d, %d+%d) in a region of %d bytes: %w",
		s.Off, s.Off, s.Len, s.Region.Len(), ErrInvalid)
}

// Normalize fills in defaults and returns all that is wrong with the
// configuration, as one error that wraps ErrInvalid or ErrUnsupported. It is
// for providers.
func (c *QPConfig) Normalize(lim *Limits) error {
	if c.SendDepth == 0 {
		c.SendDepth = DefaultDepth
	}
	if c.RecvDepth == 0 {
		c.RecvDepth = DefaultDepth
	}
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf(format, args...))
	}
	if c.Transport > UD || (c.Transport == UC && !lim.UC) || (c.Transport == UD && !lim.UD) {
		bad("transport %v: %w", c.Transport, ErrUnsupported)
	}
	if c.Domain == nil {
		bad("no protection domain: %w", ErrInvalid)
	}
	if c.SendCQ == nil || c.RecvCQ == nil {
		bad("a completion queue is missing: %w", ErrInvalid)
	}
	if c.SendDepth < 1 || c.SendDepth > lim.MaxDepth {
		bad("send depth %d, the device takes 1 to %d: %w", c.SendDepth, lim.MaxDepth, ErrInvalid)
	}
	if c.RecvDepth < 1 || c.RecvDepth > lim.MaxDepth {
		bad("receive depth %d, the device takes 1 to %d: %w", c.RecvDepth, lim.MaxDepth, ErrInvalid)
	}
	if c.MaxInline < NoInline || c.MaxInline > lim.MaxInline {
		bad("%d bytes inline, the device takes up to %d: %w", c.MaxInline, lim.MaxInline, ErrInvalid)
	}
	if c.MaxSegs < 0 || c.MaxSegs > lim.MaxSegs {
		bad("%d segments, the device takes up to %d: %w", c.MaxSegs, lim.MaxSegs, ErrInvalid)
	}
	if c.RNRTimeout < 0 && c.RNRTimeout != RNRForever {
		bad("RNR timeout %v: %w", c.RNRTimeout, ErrInvalid)
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("fabric: queue pair: %w", errors.Join(errs...))
}

// Limits returns the limits of the queue pair's requests, given those of its device. It is
// for providers.
func (c *QPConfig) Limits(lim Limits) Limits {
	if c.MaxInline != 0 {
		lim.MaxInline = max(c.MaxInline, 0)
	}
	if c.MaxSegs != 0 {
		lim.MaxSegs = c.MaxSegs
	}
	return lim
}
