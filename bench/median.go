package bench

import (
	"cmp"
	"fmt"
	"slices"
)

// Median is one line of a table: the median trial of a case and how far the trials
// lie apart.
type Median[R any] struct {
	Row    R
	Trials int
	Spread float64 // (max-min)/median of the rates
}

// Medians groups rows by case, in order: a case ends where the number of the trial
// does not grow. key returns that number, from 1, and the rate of a row.
func Medians[R any](rows []R, key func(*R) (trial int, rate float64)) []Median[R] {
	trial := func(i int) int { n, _ := key(&rows[i]); return n }
	rate := func(r *R) float64 { _, x := key(r); return x }
	var out []Median[R]
	for start := 0; start < len(rows); {
		stop := start + 1
		for stop < len(rows) && trial(stop) > trial(stop-1) {
			stop++
		}
		group := slices.Clone(rows[start:stop])
		slices.SortFunc(group, func(a, b R) int { return cmp.Compare(rate(&a), rate(&b)) })
		m := Median[R]{Row: group[len(group)/2], Trials: len(group)}
		if mid := rate(&m.Row); mid > 0 {
			m.Spread = (rate(&group[len(group)-1]) - rate(&group[0])) / mid
		}
		out = append(out, m)
		start = stop
	}
	return out
}

// SpreadText writes how far the trials lie apart; nothing where there is only one.
func (m *Median[R]) SpreadText() string {
	if m.Trials < 2 {
		return ""
	}
	return fmt.Sprintf("%.0f %% of %d", 100*m.Spread, m.Trials)
}
