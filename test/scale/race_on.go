//go:build race

package scale

// Race says whether the race detector is built in. Memory that is off the heap
// elsewhere is on the heap then, and the detector allocates.
const Race = true
