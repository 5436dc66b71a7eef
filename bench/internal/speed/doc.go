// Package speed sees whether a CPU keeps its speed while it is measured: by a chain of
// multiplications of which each waits for the one before, so that it takes as long as the
// frequency says, whoever else is on the core; and by the kernel's count of how often the
// CPU was too hot.
package speed
