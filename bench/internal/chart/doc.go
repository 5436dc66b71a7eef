// Package chart draws what a benchmark has measured, as SVG and in pixels (PNG): lines
// over chosen numbers, curves over numbers of any size, bars over names, and lists of
// bars. Colours and size are those of bench/call/figure, which can do much more and
// needs a plotting library for it; a command that draws its own figures should not
// bring that along for lines, ticks and a legend.
//
// A figure is drawn once, as a list of shapes (canvas), and each shape can be written
// in both forms, so that they show the same. Pixels need a rasterizer and a font:
// golang.org/x/image, and Liberation Serif, which SVG names too.
//
// What was not measured is not drawn: a line goes on at its next point, and the
// place of a bar stays empty. Names may come from a server that is not trusted: they
// are escaped, and what XML cannot hold is left out.
package chart
