//go:build !race

package fence

import "runtime"

// compilerBarrier ends the memory state that the compiler reasons about: loads
// and stores before it are neither merged with, nor made dead or reused by, those
// after it. KeepAlive takes a place on the compiler's chain of memory operations;
// of a constant it produces no instruction and keeps no register.
// TestPublishIsNotDropped fails where this stops being true.
func compilerBarrier() { runtime.KeepAlive(nil) }
