package out

import (
	"strings"
	"unicode/utf8"
)

// Column is one column of a table; one without a value in any line is left out.
type Column[L any] struct {
	head  string
	left  bool
	value func(*L) string
}

// Left is a column of text.
func Left[L any](head string, value func(*L) string) Column[L] { return Column[L]{head, true, value} }

// Right is a column of numbers.
func Right[L any](head string, value func(*L) string) Column[L] {
	return Column[L]{head, false, value}
}

// Varying returns the first column, and those of the others whose values are not all alike:
// what tells lines apart.
func Varying[L any](lines []L, columns []Column[L]) (out []Column[L]) {
	for i, c := range columns {
		for j := range lines {
			if i == 0 || c.value(&lines[j]) != c.value(&lines[0]) {
				out = append(out, c)
				break
			}
		}
	}
	return out
}

func writeColumns[L any](b *strings.Builder, lines []L, columns []Column[L]) {
	var grid [][]string // by column
	var cols []Column[L]
	for _, c := range columns {
		cells, used := []string{c.head}, false
		for i := range lines {
			s := c.value(&lines[i])
			used = used || s != ""
			cells = append(cells, s)
		}
		if used {
			grid, cols = append(grid, cells), append(cols, c)
		}
	}
	for line := range len(lines) + 1 {
		var text strings.Builder
		for i, c := range cols {
			pad(&text, grid[i][line], columnWidth(grid[i]), c.left)
			text.WriteString("  ")
		}
		b.WriteString(strings.TrimRight(text.String(), " "))
		b.WriteByte('\n')
	}
}

func columnWidth(cells []string) int {
	n := 0
	for _, s := range cells {
		n = max(n, utf8.RuneCountInString(s))
	}
	return n
}

func pad(b *strings.Builder, s string, n int, left bool) {
	fill := strings.Repeat(" ", n-utf8.RuneCountInString(s))
	if left {
		b.WriteString(s + fill)
		return
	}
	b.WriteString(fill + s)
}
