package bench

import (
	"cmp"
	"slices"

	"github.com/remora-kv/remora/bench/host"
)

// Placements returns the values of a --placement flag as rows have them. Those that cannot be
// are faults; started says that the server is started here, and apart that it is a process of
// its own.
func (f *Faults) Placements(texts []string, started, apart bool) []string {
	texts = slices.Clone(texts)
	for i, text := range texts {
		s, err := host.ParseSharing(text)
		if err != nil {
			f.Add("--placement: %w", err)
			continue
		}
		texts[i] = s.String()
		if !started && !s.Own() {
			f.Add("--placement %v: bench does not choose the CPUs of a server that it has not started: leave out --server or --server-command", s)
		}
		if client, server := s.Quotas(); client+server != 0 && !apart {
			f.Add("--placement %v: on loop client and server are one process: use another --fabric", s)
		}
	}
	return texts
}

// Sharing reads a placement that Placements has checked; empty: CPUs of their own.
func Sharing(placement string) host.Sharing {
	s, _ := host.ParseSharing(cmp.Or(placement, host.ShareOwn))
	return s
}

// PlacementLabel is what the note about the CPUs of a placement begins with.
func PlacementLabel(placement string) string {
	if Sharing(placement).Own() {
		return "CPUs"
	}
	return "placement " + placement
}
