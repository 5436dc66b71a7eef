// Package report writes what a benchmark has measured: a table for people, of the
// median trial of each case, between the warnings that make its numbers doubtful
// and the notes that say under which conditions they were taken.
//
// A benchmark has rows of its own type, one for each trial, in the order in which
// they were measured; it says how its columns are made of them (Left, Right), and
// the package lays them out. Numbers in rows are rounded (Round), because digits
// that mean nothing are read all the same; numbers in tables have three digits and
// a unit (SI, Micros, Bytes).
package report
