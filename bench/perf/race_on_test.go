//go:build race

package perf_test

// testOps is how many operations a test runs.
const testOps = 200
