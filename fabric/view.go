package fabric

// Viewer is a queue pair whose READs are loads of this CPU, as those of loop and shm: its
// owner can look at the peer's memory in place instead of reading it (G20). Where a queue
// pair is not a Viewer, or View returns false, the owner posts a READ.
type Viewer interface {
	// View returns the n bytes that a READ posted now would bring, in place. It returns false
	// if only a READ can do that: for memory that was not read before or may not be read, on a
	// queue pair that is not ready or has requests that were not executed yet.
	//
	// The bytes are valid until the owner's next Post or Close of this queue pair, or Poll, Wait
	// or Close of anything on its completion queues (T1). They must not be written, and append
	// does not write behind them. The caller chooses the order in which it loads words (not G5).
	// A peer that breaks its promise may change them at any time: a caller reads what it relies
	// on once and checks it, or checks it in a way that a change cannot harm.
	View(from Remote, n int) ([]byte, bool)
}
