package fabric

// Placer is a queue pair whose WRITEs are stores of this CPU, as those of loop and shm: what is
// written need not be in registered memory (G21). A queue pair that is none, or says no, is given
// a WRITE.
type Placer interface {
	// Place writes b as a WRITE posted now would, and has done so when it returns: b can be used for
	// something else. It is false, and has written nothing, if only a WRITE can do that: to memory that
	// was not written or read before, that may not be written, on a queue pair that is not ready, or has
	// requests that were not executed yet.
	Place(to Remote, b []byte) bool
}
