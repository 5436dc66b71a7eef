//go:build amd64 || arm64

package fence

// Pause tells the CPU that this thread spins: PAUSE on amd64, YIELD on arm64.
//
//go:noescape
func Pause()

// PauseN pauses n times in one call; n <= 0 returns at once.
//
//go:noescape
func PauseN(n int)

// ExpectWrite starts to fetch the line of p for writing, and does not wait for
// it: PREFETCHW on amd64, PRFM PSTL1KEEP on arm64.
//
//go:noescape
func ExpectWrite(p *byte)

// ExpectRead starts to fetch the line of p for reading, and does not wait for
// it: PREFETCHT0 on amd64, PRFM PLDL1KEEP on arm64. p need not be mapped.
//
//go:noescape
func ExpectRead(p *byte)

// ExpectOnce is ExpectRead of what is read once and soon, and is to push out little of what
// else is in the caches: PREFETCHNTA on amd64, PRFM PLDL1STRM on arm64.
//
//go:noescape
func ExpectOnce(p *byte)
