package bench

import "testing"

func TestKnee(t *testing.T) {
	xs := []float64{1, 2, 4, 8, 16}
	for _, c := range []struct {
		name  string
		ys    []float64
		below bool
		want  int
	}{
		{"saturates at 4", []float64{10, 20, 38, 40, 41}, false, 2},
		{"falls behind 4", []float64{10, 20, 40, 35, 30}, false, 2},
		{"straight", []float64{10, 20, 40, 80, 160}, false, -1},
		{"flat", []float64{5, 5, 5, 5, 5}, false, -1},
		{"rises behind 8", []float64{10, 10, 11, 13, 900}, true, 3},
		{"too few", []float64{1, 2}, false, -1},
	} {
		if got := Knee(xs[:len(c.ys)], c.ys, c.below); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	if got := Knee([]float64{3, 2, 1}, []float64{1, 5, 6}, false); got != -1 {
		t.Errorf("an axis that falls has the knee %d", got)
	}
}
