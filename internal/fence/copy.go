package fence

import "fmt"

// CopyOut copies src into dst, which a peer may be reading at this moment (F3,
// F5). It copies len(src) bytes; dst must be at least as long. dst and src must
// not overlap. The goroutine is not preempted meanwhile, as in copy.
func CopyOut(dst, src []byte) {
	if len(dst) < len(src) {
		panicShort("CopyOut", len(dst), len(src))
	}
	if len(src) > 0 {
		copyOut(&dst[0], &src[0], len(src))
	}
}

// lineSize is the unit in which caches exchange memory, or a multiple of it.
const lineSize = 64

// expectLines bounds how much ExpectLines asks for: more would push out what is
// in use.
const expectLines = 16

// ExpectLines is ExpectWrite for all lines of mem, up to a kilobyte.
func ExpectLines(mem []byte) {
	for at := 0; at < len(mem) && at < expectLines*lineSize; at += lineSize {
		ExpectWrite(&mem[at])
	}
}

// CopyIn copies src, which a peer may be writing at this moment, into dst (F4,
// F5). It copies len(src) bytes; dst must be at least as long. dst and src must
// not overlap. The goroutine is not preempted meanwhile, as in copy.
func CopyIn(dst, src []byte) {
	if len(dst) < len(src) {
		panicShort("CopyIn", len(dst), len(src))
	}
	if len(src) > 0 {
		copyIn(&dst[0], &src[0], len(src))
	}
}

func panicShort(name string, dst, src int) {
	panic(fmt.Sprintf("fence.%s: destination of %d bytes for a source of %d", name, dst, src))
}
