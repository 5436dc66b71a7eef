package bench

import (
	"cmp"
	"fmt"
	"slices"
)

const (
	// differing is by how much the trials of a case may differ, and differingMost by how
	// much those of most cases may if the report is to be trusted.
	differing, differingMost = 0.1, 0.25
)

// rates are those of the trials of a case, of which shared says that it shares its CPUs on
// purpose.
type rates struct {
	of     any // the case
	title  string
	shared bool
	rates  []float64
	spread float64 // largest less smallest, by the median
}

// rate adds what trials of a case have found.
func (r *Remarks) rate(of any, title string, shared bool, found ...float64) {
	i := slices.IndexFunc(r.rates, func(c *rates) bool { return c.of == of })
	if i < 0 {
		i, r.rates = len(r.rates), append(r.rates, &rates{of: of, title: title, shared: shared})
	}
	r.rates[i].rates = append(r.rates[i].rates, found...)
}

// Judge judges the trials of all cases together (D9, D10, V2).
func (r *Remarks) Judge() {
	r.Warn(r.speeds.Doubt())
	all := r.spreads()
	r.Warn(unlike(all))
	r.Distrust(mostDiffer(all))
}

// spreads returns the cases with several trials, those first that lie apart least.
func (r *Remarks) spreads() (all []*rates) {
	for _, c := range r.rates {
		if slices.Sort(c.rates); len(c.rates) < 2 || c.rates[len(c.rates)/2] == 0 {
			continue
		}
		c.spread = (c.rates[len(c.rates)-1] - c.rates[0]) / c.rates[len(c.rates)/2]
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *rates) int { return cmp.Or(cmp.Compare(a.spread, b.spread), cmp.Compare(a.title, b.title)) })
	return all
}

// unlike names the case whose trials differ most, if they differ too much.
func unlike(cases []*rates) string {
	if len(cases) == 0 || cases[len(cases)-1].spread <= differing {
		return ""
	}
	worst, cure := cases[len(cases)-1], "use more --trials, longer ones, or a quieter machine"
	if worst.shared {
		cure = "sharing CPUs does that: use more --trials, or longer ones"
	}
	return fmt.Sprintf("trials differ by up to %.0f %% (%s): smaller differences between rows say nothing; %s", 100*worst.spread, worst.title, cure)
}

// mostDiffer says that the trials of most cases differ so much that no comparison holds, where
// that is not for what they share their CPUs with.
func mostDiffer(cases []*rates) string {
	cases = slices.DeleteFunc(cases, func(c *rates) bool { return c.shared })
	if len(cases) == 0 || cases[len(cases)/2].spread <= differingMost {
		return ""
	}
	return fmt.Sprintf("in half of the cases or more, trials differ by %.0f %% or more", 100*cases[len(cases)/2].spread)
}
