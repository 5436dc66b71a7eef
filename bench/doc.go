// Package bench is what all benchmarks of Remora share: what is wrong with a configuration
// (Faults), where a run is (Progress), what a handful of trials is worth (Estimate, Median),
// and what makes numbers doubtful (Remarks).
//
//	S1  The standard deviation is that of a sample: divided by n-1.
//	S2  The confidence interval is mean +- t s/sqrt(n), with t from Student's distribution of
//	    n-1 degrees of freedom: with few trials s itself is a guess, and 1.96 would promise too
//	    much.
//	S3  One trial has a mean and nothing else. Its deviation and interval are 0, and N says why.
package bench
