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
//	W1  The page loads nothing. Its content security policy allows only the two scripts and the
//	    styles whose hashes it lists, and pictures within the page.
//	W2  Names, versions, errors and command lines come from outside. They reach the page
//	    through html/template as text, or as JSON that cannot end its element, and its
//	    program only ever sets the text of elements.
//	W3  Each chart has a table beside it and a link to a CSV file with the same numbers, for
//	    readers who cannot see the chart or use no pointer.
//	W4  A directory is overwritten only if it is empty or holds a report of ours; and it is
//	    tried before anything is measured.
//	W5  Throughput is the median of the trials with its interval (S4 of package bench);
//	    latencies, their distribution and the time line are those of the trial with the median
//	    rate.
//	W6  uPlot (assets/uplot, with its licence) draws the charts, because it can draw hundreds of
//	    curves at once.
package report
