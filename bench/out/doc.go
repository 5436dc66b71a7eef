// Package out writes what benchmarks have measured: tables for people, rows for programs, and
// figures.
//
// A table has a line for each case, with the numbers of the trial that has the median rate. Above
// it are the warnings, below it the notes on the conditions of the measurement. A benchmark
// defines its columns by functions of a line (Left, Right); numbers have three digits and a unit
// (SI, Micros, Bytes).
//
// CSV writes rows, structures with names for JSON, one column for each field:
//
//	F1  Columns are the fields that JSON has, in the order in which they are declared,
//	    whatever is in them: all rows of a type have the same columns.
//	F2  A structure in a structure is its own columns, with its name before theirs:
//	    verbs_per_op_read. An embedded one has no name.
//	F3  A list or a map is one cell, in JSON.
//	F4  What is not there (nil, an empty list or map) is an empty cell. A zero is 0.
//
// A Figure holds lines or bars, drawn by gonum.org/v1/plot as SVG, whose text stays text, or as
// PNG with 300 dots to the inch:
//
//	D1  No two series look alike: each has a colour, a dash and a marker of its own, also after
//	    ten, and the dashes and markers alone tell 56 apart in black and white.
//	D2  What was not measured is not drawn: a line goes on at its next point, the place of a bar
//	    stays empty, and the legend says so of a series without points.
//	D3  A point measured several times has an error bar.
//	D4  What the authors of a paper found (Series.Paper) has the colour of our series of that
//	    name, and a star as marker.
//	D5  The legend is below the plot. Numbers of an axis have a unit (Unit): 10 ms, 1.2 M/s.
//	D6  Names may come from a server that is not trusted: they are escaped, and what XML cannot
//	    hold is left out. They are never shortened.
package out
