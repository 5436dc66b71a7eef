// Package chart draws what a benchmark has measured as SVG: lines over numbers,
// and bars over names. Colours and size are those of bench/call/figure, which can
// do much more and needs a plotting library for it; a command that draws its own
// figures should not bring that along for lines, ticks and a legend.
//
// What was not measured is not drawn: a line goes on at its next point, and the
// place of a bar stays empty.
package chart
