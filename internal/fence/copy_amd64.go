//go:build !race

package fence

import "golang.org/x/sys/cpu"

// hasAVX lets the copies take 32 bytes at a time.
var hasAVX = cpu.X86.HasAVX //nolint:unused // by copy_amd64.s

// copyOut copies n > 0 bytes with the orderings of CopyOut.
//
//go:noescape
func copyOut(dst, src *byte, n int)

// copyIn copies n > 0 bytes with the orderings of CopyIn.
//
//go:noescape
func copyIn(dst, src *byte, n int)
