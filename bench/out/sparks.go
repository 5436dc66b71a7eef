package out

import "slices"

// Sparks draws values as columns of one line, from 0 to the largest.
func Sparks(ys []float64) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	top := 0.0
	if len(ys) > 0 {
		top = slices.Max(ys)
	}
	var out []rune
	for _, y := range ys {
		at := 0
		if top > 0 {
			at = min(max(int(y/top*float64(len(levels))+0.5)-1, 0), len(levels)-1)
		}
		out = append(out, levels[at])
	}
	return string(out)
}
