// Package outside checks that the public packages can be used by programs of other modules. It has
// no code but its test.
//
// The test makes a module beside this one, whose go.mod replaces Remora by the working tree, copies
// the example of each public package (example_test.go) there, and runs them. So an example that is
// printed in the documentation compiles where its readers are: without internal packages, and
// without helpers from other test files. The rule in test/lint that no exported signature may name
// an internal type is about everything that is exported; this test is about whether the whole
// serves a purpose.
//
// It needs no network: the dependencies and their checksums are those of this module.
package outside
