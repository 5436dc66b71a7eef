// Package lint holds the rules of this repository that no general linter knows,
// as tests: go test ./test/lint.
//
// The package has no code but its tests. A rule is a value in rules_test.go with
// a name, a check, and a sentence that every one of its messages ends with: what
// to do instead. It carries samples that it must report and samples that it must
// not, so that a rule which can no longer fail is noticed.
//
// Where a line must break a rule that allows it, the line says so and why:
//
//	time.Sleep(d) //lint:allow sleep the peer offers no event for this
//
// The names are "sleep" and "time.Now". Files and functions over the size limits
// are listed with their reason in sizes_test.go.
//
// One rule needs types instead of syntax: no exported name of a public package may
// name a type of an internal one (exported_test.go). It reads the export data of
// the compiler, and has samples of its own.
//
// One test makes another module and runs the examples of all public packages there
// (outside_test.go).
//
// A directory whose name ends in "test", such as fabric/fabrictest, is a suite
// for tests and is treated like _test.go files. Directories named testdata are
// skipped, and so is every nested module where a rule is about Go code.
package lint
