package bench

import "slices"

// minBend is how far a curve must be from a straight line to have a knee, in the height of
// the curve.
const minBend = 0.1

// Knee finds where a curve bends: the point farthest from the straight line between its first
// and its last, both axes scaled to 0..1 (Satopaa et al., "Finding a Kneedle in a Haystack").
// Rates that rise and then stay are above that line; with below it is the one under it, as of
// latencies that stay and then rise. xs must rise. -1: there is none.
func Knee(xs, ys []float64, below bool) int {
	n := len(xs)
	if n < 3 || !slices.IsSorted(xs) || xs[0] == xs[n-1] {
		return -1
	}
	low, high := slices.Min(ys), slices.Max(ys)
	if !(high > low) {
		return -1
	}
	best, at := minBend, -1
	scale := func(i int) (x, y float64) { return (xs[i] - xs[0]) / (xs[n-1] - xs[0]), (ys[i] - low) / (high - low) }
	_, first := scale(0)
	_, last := scale(n - 1)
	for i := 1; i < n; i++ {
		x, y := scale(i)
		bend := y - (first + x*(last-first))
		if below {
			bend = -bend
		}
		if bend > best {
			best, at = bend, i
		}
	}
	return at
}
