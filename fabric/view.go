package fabric

// Viewer is a queue pair whose READs are loads of this CPU, as those of loop and shm: who
// would READ can look at the memory where it is instead (G20). A queue pair that is none, or
// says no, is asked by READ.
type Viewer interface {
	// View returns the n bytes that a READ posted now would bring, where they are. It is
	// false if only a READ can tell: of memory that was not read before, that may not be
	// read, on a queue pair that is not ready, or has requests that were not executed yet.
	//
	// They can be used until the owner's next Post or Close of this queue pair, or Poll, Wait or
	// Close of anything on its completion queues (T1), and must not be written; nothing is behind
	// them that append could write to. In which order words are looked at is up to who looks (not
	// G5). A peer that breaks its word may change them at any time: whatever is
	// relied on is read once and checked, or checked in such a way that a change does no harm.
	View(from Remote, n int) ([]byte, bool)
}
