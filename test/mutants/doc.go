// Command mutants proves that the tests notice defects: it applies each of those in
// list.txt to a copy of the repository, one at a time, and runs the tests that must
// fail then.
//
//	script/mutants             all defects of the list
//	script/mutants NAME...     those whose name contains one of the words
//	script/mutants -n 3 NAME   each three times: concurrent defects show by chance
//
// It is for those who change tests: whoever makes a test shorter, or takes one away,
// runs it before and after.
//
// # The list
//
//	== name
//	# What is broken, and what a user would see.
//	file: path/of/a/file.go
//	test: ./package ./another
//	<<<<
//	lines that occur once in the file
//	====
//	lines in their place
//	>>>>
//
// A defect may change several files: a second file line begins the next change. A
// test of this package checks that the list still fits the code.
package main
