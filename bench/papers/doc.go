// Package papers measures what figures and tables of papers show, on a machine of one's own.
// It is the library behind `remora bench figure`.
//
// A Figure is data: where it is from and what its authors found, the quantities that it shows,
// and points, each a configuration of one of the benchmarks (bench cache, rpc, kvl, verbs) with
// a series and a place on the horizontal axis. The package measures nothing by itself. Report
// writes a figure as a table and draws it, with the points of the paper beside ours.
//
//	P1  What a figure says of a paper is in the paper: its number, its parameters, and what
//	    the authors found. Authors has only points of which the text gives both numbers. What
//	    we do otherwise is in Ours.
//	P2  Points are measured in rounds: every one once, in an order that the seed shuffles,
//	    then every one again.
//	P3  Sizes are for one machine (Size) and not the paper's, which had a cluster; the
//	    output says which.
//	P4  A point that cannot be measured here has the reason in the place of its number, and
//	    ends nothing. A trial that fails does not end the run, nor does it void the others of
//	    its point: Run returns an error beside the report. A wrong value ends the run.
package papers
