package report

import (
	"fmt"
	"strings"
)

// palette has the colours of cases, in turn, on a light page and on a dark one. All can
// be told from the page and, by most people, from each other; lines of one colour have
// different dashes.
var palette = [][2]string{
	{"#2b5fd9", "#7ea6ff"},
	{"#cf4a12", "#ff9563"},
	{"#0b8457", "#4fd39b"},
	{"#8a3ffc", "#c5a3ff"},
	{"#a86a00", "#f2c14e"},
	{"#c2257a", "#ff8cc6"},
	{"#007d9c", "#56cbe3"},
	{"#6f4e37", "#d0a98c"},
	{"#5b6b00", "#c3d651"},
	{"#5a6472", "#aab6c6"},
	// The same again, farther from the page.
	{"#16388a", "#bfd2ff"},
	{"#86300b", "#ffccb3"},
	{"#05573a", "#a4efcc"},
	{"#5a1fb0", "#e6d8ff"},
	{"#6b4400", "#fbe5ae"},
	{"#82124f", "#ffcbe6"},
	{"#004f63", "#b0ecf7"},
	{"#45301f", "#eed9cb"},
	{"#3a4500", "#e6f0a8"},
	{"#343c47", "#dbe2eb"},
}

// The pages themselves.
const (
	lightPage = "#ffffff"
	darkPage  = "#161b22"
)

// color is the index of a case's colour: that of its target, and its own where there is
// only one target.
func (s *results) color(i int) int {
	if len(s.targets) == 1 {
		return i % len(palette)
	}
	return s.cases[i].target % len(palette)
}

// paletteCSS makes the colours known to styles: light, and dark where the system or the
// reader asks for it.
func paletteCSS() string {
	vars := func(k int, page string) string {
		var b strings.Builder
		fmt.Fprintf(&b, "--card:%s;", page)
		for i, c := range palette {
			fmt.Fprintf(&b, "--c%d:%s;", i, c[k])
		}
		return b.String()
	}
	light, dark := vars(0, lightPage), vars(1, darkPage)
	return ":root{" + light + "}\n@media (prefers-color-scheme:dark){:root:not([data-theme=light]){" + dark + "}}\n" +
		":root[data-theme=dark]{" + dark + "}\n" + swatches()
}

// swatches are classes for elements that have the colour of a case.
func swatches() string {
	var b strings.Builder
	for i := range palette {
		fmt.Fprintf(&b, ".k%d{--k:var(--c%d)}", i, i)
	}
	return b.String() + "\n"
}
