// Package papers repeats the measurements behind figures and tables of papers on the reader's
// machine. It is the library behind `remora bench figure`.
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
//	P4  A point that cannot be measured here is listed with the reason, and the run goes on. It
//	    goes on after a failed trial too, and the point keeps its other trials; Run then returns
//	    an error beside the report. A wrong value ends the run.
//	P5  The trials of a point are judged together, as those of a case are (D9, D10 and V2 of
//	    bench).
package papers
