// Package stats says what a handful of trials is worth: their mean, how far they
// lie apart, and between which bounds the mean of very many would be.
//
//	S1  The standard deviation is that of a sample: divided by n-1.
//	S2  The confidence interval is mean +- t s/sqrt(n), with t from Student's
//	    distribution of n-1 degrees of freedom: with few trials s itself is a guess,
//	    and 1.96 would promise too much.
//	S3  One trial has a mean and nothing else. Its deviation and interval are 0, and N
//	    says why.
package stats
