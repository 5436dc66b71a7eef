// Command mutants checks that the tests notice known defects: it applies each defect in
// list.txt to a copy of the repository, one at a time, runs the tests of the packages
// listed with it, and expects at least one to fail.
//
//	script/mutants             all defects of the list
//	script/mutants NAME...     those whose name contains one of the words
//	script/mutants -n 3 NAME   up to three runs for each; one failure is enough
//
// Run it before and after you shorten or remove a test.
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
