// Package report writes the rows of any benchmark as a directory for people: one page that
// opens without a network, figures for papers, and the rows, structures that embed
// bench.Measure. It is the library behind the flag --report of `remora bench`.
//
//	index.html              the page: everything in it, also its programs and data
//	fig-NAME.svg, .png      the figures in the style of papers (bench/out)
//	rows.csv, rows.json     every trial
//
// # Terms
//
// Rows of one case are its trials. A dimension is a parameter of cases (dimensions.go);
// what tells cases apart is their label, and the part of it that names what was measured,
// not by which load, is their target: cases of one target are a curve of the figure of
// latency against throughput, and share a colour.
//
// # Rules
//
//	W1  The page asks nobody for anything. Its policy (CSP) forbids all but the two
//	    scripts and styles whose hashes it names, and pictures within it.
//	W2  Names, versions, errors and command lines come from outside. They reach the page
//	    through html/template as text, or as JSON that cannot end its element, and its
//	    program only ever sets the text of elements.
//	W3  What a chart shows is also in a table beside it and in a CSV file behind a link, so
//	    that nothing is there for eyes and pointers alone.
//	W4  A directory is overwritten only if it is empty or holds a report of ours; and it is
//	    tried before anything is measured.
//	W5  Throughput is the median of the trials with its 95 % interval; latencies,
//	    their distribution and the time line are those of the median trial by throughput.
//	W6  The charts are drawn by uPlot, which is in assets/uplot with its licence, because
//	    drawing hundreds of curves at once is its job and not ours.
package report
