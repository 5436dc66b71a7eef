//go:build !race

package fence

import "golang.org/x/sys/cpu"

// hasAVX lets the copies, also those in copy_amd64.s, take 32 bytes at a time.
var hasAVX = cpu.X86.HasAVX

// copyOut copies n > 0 bytes with the orderings of CopyOut.
//
//go:noescape
func copyOut(dst, src *byte, n int)

// copyIn copies n > 0 bytes with the orderings of CopyIn.
//
//go:noescape
func copyIn(dst, src *byte, n int)
