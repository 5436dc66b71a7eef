// Package preset measures what figures and tables of papers show, on a machine of one's
// own. It is the library behind `remora bench figure`.
//
// A Preset is a figure: who found what, and points, each a configuration of one of the
// benchmarks (bench cache, rpc, kvl, verbs) with a series and a place on the horizontal
// axis. The package measures nothing by itself.
//
//	P1  What a preset says of a paper is in the paper: its number, its parameters, and what
//	    the authors found. What we do otherwise is in Ours.
//	P2  Points are measured in rounds: every one once, in an order that the seed shuffles,
//	    then every one again.
//	P3  Sizes are for one machine (Size) and not the paper's, which had a cluster; the
//	    output says which.
//	P4  A point that cannot be measured here has the reason in the place of its number, and
//	    ends nothing. A wrong value ends the run.
package preset
