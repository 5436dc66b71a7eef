package fabric

// Placer is a queue pair whose WRITEs are stores of this CPU, as those of loop and shm: the data
// need not be in registered memory (G21). Where a queue pair is not a Placer, or Place returns
// false, the owner posts a WRITE.
type Placer interface {
	// Place writes b as a WRITE posted now would. When it returns, b can be reused. It returns false
	// and writes nothing if only a WRITE can do that: to memory that was not written or read before or
	// may not be written, on a queue pair that is not ready or has requests that were not executed yet.
	Place(to Remote, b []byte) bool
}
