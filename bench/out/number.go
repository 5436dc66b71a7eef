package out

import (
	"fmt"
	"math"
	"strings"
)

// PercentText writes what Percent returned, with n digits behind the point.
func PercentText(p *float64, n int) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%.*f %%", n, *p)
}

// Unless writes s, or nothing when it is hidden.
func Unless(hidden bool, s string) string {
	if hidden {
		return ""
	}
	return s
}

// Bar draws x in eighths of a block, as long as width for top.
func Bar(x, top float64, width int) string {
	if top <= 0 {
		return ""
	}
	eighths := int(math.Round(x / top * float64(width) * 8))
	if eighths == 0 && x > 0 {
		eighths = 1
	}
	parts := []rune(" ▏▎▍▌▋▊▉")
	s := strings.Repeat("█", eighths/8)
	if eighths%8 != 0 {
		s += string(parts[eighths%8])
	}
	return s
}

func threeDigits(x float64) string {
	switch {
	case x >= 99.95:
		return fmt.Sprintf("%.0f", x)
	case x >= 9.995:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// Bytes writes a size.
func Bytes(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}
