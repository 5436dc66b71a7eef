// Package affinity places threads on CPUs.
//
// A core of the server is one locked OS thread on one CPU, and a benchmark keeps
// its clients off the CPUs of its server. Both need three answers: which CPUs
// this process may use, which of them are different physical cores, and how to
// stay on one.
//
// The function that Pin returns must be called by the goroutine that called Pin.
// A goroutine that ends while it is pinned takes its thread with it, as with any
// locked thread. Goroutines that a pinned one starts run elsewhere, but a child
// process inherits the mask of the thread that starts it: start processes before
// pinning, or from another goroutine.
package affinity

import "errors"

// ErrUnsupported is wrapped by every error on a system without thread affinity.
var ErrUnsupported = errors.New("thread affinity is not supported on this system")
