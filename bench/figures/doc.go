// Package figures redraws Figures 2 to 7 of the HERD paper ("Using RDMA
// Efficiently for Key-Value Services", SIGCOMM 2014) on a fabric of one's own. It
// is the library behind `remora bench figure herd-verbs`.
//
// A figure is a plan over the tests of bench/perf and measures nothing by itself:
// each of its points is one perf.Config, and the command that measures it alone is
// written down beside it.
//
//	plan     Figure -> Points, each a perf.Config
//	Run      rounds over all points -> Report
//	Write    Report -> figure-N.csv, figure-N.svg, index.md
//
// # Rules
//
//	R1  Every point of a plan is a row of its CSV file. One that the fabric cannot
//	    do has the reason in its row, in the words of perf, and no number.
//	R2  Trials are interleaved: every point is measured once before any is measured
//	    again, and those that are compared, the series at one place of the
//	    horizontal axis, follow each other. A row is the median trial by what the
//	    figure shows.
//	R3  A trial that fails does not end the run, nor does it void the others of its
//	    point. A row without any says why, and Run returns an error beside the
//	    report.
//	R4  Order and values of a CSV file follow from the plan and the measurements
//	    alone, so that two runs can be compared line by line.
package figures
