package cachetest

import (
	"fmt"
	"hash/maphash"
	"strconv"

	"github.com/anishathalye/porcupine"
)

// entry is the state of one key. The zero entry is a key that was never there.
type entry struct {
	there   bool
	value   string
	version uint64 // 0: not known
	last    uint64 // the largest version known to have been given to this key
	told    int    // how many changes were told a version
}

// step answers whether a key in state e can answer a call with an outcome, and
// what becomes of it.
func step(e entry, c *Call, o *Outcome) (entry, bool) {
	want, next := e.apply(c)
	if o.Status == Unknown {
		return next, true
	}
	if o.Status != want {
		return e, false
	}
	if want != OK {
		return e, true
	}
	switch c.Kind {
	case Get:
		if o.Untold {
			return e, o.Value == e.value
		}
		return e.seen(o)
	case Set, Add, Replace, CAS:
		if o.Untold {
			return next, true
		}
		if o.Version <= e.last {
			return e, false
		}
		next.version, next.last = o.Version, o.Version
	case Incr:
		if next.value != strconv.FormatInt(o.Sum, 10) || o.Version != 0 && o.Version <= e.last {
			return e, false
		}
		next.version, next.last = o.Version, max(o.Version, e.last)
	case Delete, DeleteVersion, Touch:
	default:
	}
	return next, true
}

// seen is what a Get says about an entry that is there.
func (e entry) seen(o *Outcome) (entry, bool) {
	if o.Value != e.value {
		return e, false
	}
	if e.version != 0 {
		return e, o.Version == e.version
	}
	if o.Version <= e.last {
		return e, false
	}
	e.version, e.last = o.Version, o.Version
	return e, true
}

// apply returns how a call ends in this state, and the next state.
func (e entry) apply(c *Call) (Status, entry) {
	if s := e.condition(c); s != OK {
		return s, e
	}
	next := e
	switch c.Kind {
	case Set, Add, Replace, CAS:
		next.there, next.value, next.version = true, c.Value, 0
	case Delete, DeleteVersion:
		next.there, next.value, next.version = false, "", 0
	case Incr:
		n, err := strconv.ParseInt(e.value, 10, 64)
		if err != nil {
			return NotNumber, e
		}
		next.value, next.version = strconv.FormatInt(n+c.Delta, 10), 0
	case Get, Touch:
	default:
	}
	return OK, next
}

// condition says whether a call may happen in this state.
func (e entry) condition(c *Call) Status {
	switch {
	case c.Kind == Set:
		return OK
	case c.Kind == Add && e.there:
		return Exists
	case c.Kind == Add:
		return OK
	case !e.there:
		return NotFound
	case (c.Kind == CAS || c.Kind == DeleteVersion) && c.Version != e.version:
		return Changed
	}
	return OK
}

// String writes the state of a key.
func (e entry) String() string {
	if !e.there {
		return "not there"
	}
	if e.version == 0 {
		return shorten(e.value)
	}
	return fmt.Sprintf("%s version %d", shorten(e.value), e.version)
}

var hashSeed = maphash.MakeSeed()

// model is the model of one key for the checker.
func model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return entry{} },
		Step: func(state, in, out any) (bool, any) {
			e, _ := state.(entry)
			p, _ := in.(*place)
			o, _ := out.(*Outcome)
			if !p.fits(e.told) {
				return false, e
			}
			next, ok := step(e, p.Call, o)
			if p.counts {
				next.told++
			}
			return ok, next
		},
		Equal: func(a, b any) bool { return a == b },
		Hash: func(state any) uint64 {
			e, _ := state.(entry)
			return maphash.Comparable(hashSeed, e)
		},
		DescribeOperation: func(in, out any) string {
			p, _ := in.(*place)
			return fmt.Sprintf("%v -> %v", p.Call, out)
		},
		DescribeState: func(state any) string { return fmt.Sprint(state) },
	}
}
