//go:build !race

package perf_test

// testOps is how many operations a test runs. Under the race detector they take
// a hundred times as long.
const testOps = 2000
