// Package out writes what benchmarks have measured: tables for people, rows for programs, and
// figures.
//
// A table is a line for each case, of its median trial, between the warnings that make its
// numbers doubtful and the notes that say under which conditions they were taken. A benchmark
// says how its columns are made of its lines (Left, Right); numbers have three digits and a
// unit (SI, Micros, Bytes).
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
// Figures (Lines, Curves, Bars, List) are drawn once, as a list of shapes, and each shape can
// be written as SVG and in pixels (PNG), so that they show the same. What was not measured is
// not drawn: a line goes on at its next point, and the place of a bar stays empty. Names may
// come from a server that is not trusted: they are escaped, and what XML cannot hold is left
// out.
package out
