// Package cputime asks the kernel how much CPU time has been used: by this process,
// by the calling thread, by any other process, from outside, or of some CPUs by all.
//
// Use is the difference of two answers. Those about this process and its threads
// are in microseconds; those about another one are in steps of 10 ms, so that over
// a second a share is known to a percent.
package cputime
