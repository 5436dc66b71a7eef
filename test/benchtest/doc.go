// Package benchtest is what the tests of benchmarks share: golden files, a test
// binary that is also the processes which the tests start (Main), and the proof
// that no server outlives its client (KillClient).
package benchtest
