package fabric

// Viewer is a queue pair whose READs are loads of this CPU, as those of loop and shm: who
// would READ can look at the memory where it is instead (G20). A queue pair that is none, or
// says no, is asked by READ.
type Viewer interface {
	// View returns the n bytes that a READ posted now would bring, where they are. It is
	// false if only a READ can tell: of memory that was not read before, that may not be
	// read, on a queue pair that is not ready, or has requests that were not executed yet.
	//
	// They can be used until the next Post, Poll, Wait or Close of the owner (T1), and must
	// not be written. A peer that breaks its word may change them at any time: whatever is
	// relied on is read once and checked, or checked in such a way that a change does no harm.
	View(from Remote, n int) ([]byte, bool)
}
