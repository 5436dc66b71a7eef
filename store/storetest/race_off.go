//go:build !race

package storetest

// raceBuild says that the race detector is on: hammering cases do less, and
// allocations are not counted.
const raceBuild = false
