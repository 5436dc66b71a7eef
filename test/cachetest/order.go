package cachetest

import "slices"

// Versions of a key rise, and most changes are told theirs. So the order of those is
// known before one is looked for, and so is where a read of a version belongs between
// them. A search that is not told goes astray as soon as it takes one of them too
// early, and finds out only where the one that it passed over can wait no longer: with
// two dozen clients on a busy machine that takes long.

// place is a call with its place among the changes that were told a version.
type place struct {
	*Call
	// before is how many of them come before it; -1 is not known.
	before int
	// counts is set for those changes themselves.
	counts bool
}

// told returns the versions that changes were told, in their order.
func told(part []Operation) []uint64 {
	var versions []uint64
	for i := range part {
		if changes(&part[i]) {
			versions = append(versions, part[i].Outcome.Version)
		}
	}
	slices.Sort(versions)
	return versions
}

// changes reports whether an operation is a change that was told a version.
func changes(o *Operation) bool {
	switch o.Call.Kind {
	case Set, Add, Replace, CAS, Incr:
		return o.Outcome.Status == OK && !o.Outcome.Untold && o.Outcome.Version != 0
	default: // others change nothing, or are told nothing
	}
	return false
}

// placed returns the call of an operation with its place among the versions told.
func placed(o *Operation, versions []uint64) *place {
	p := &place{Call: &o.Call, before: -1}
	at, found := slices.BinarySearch(versions, o.Outcome.Version)
	switch {
	case changes(o):
		p.before, p.counts = at, true
	case o.Call.Kind == Get && o.Outcome.Status == OK && !o.Outcome.Untold && found:
		p.before = at + 1
	case o.Call.Kind == Get && o.Outcome.Status == OK && !o.Outcome.Untold:
		p.before = at
	}
	return p
}

// fits reports whether a call can come after so many changes that were told a version.
func (p *place) fits(n int) bool { return p.before < 0 || p.before == n }
