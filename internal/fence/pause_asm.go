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
