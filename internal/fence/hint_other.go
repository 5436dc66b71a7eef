//go:build !amd64 && !arm64

package fence

// Pause tells the CPU that this thread spins. There is no such hint here.
func Pause() {}

// PauseN pauses n times in one call; n <= 0 returns at once.
func PauseN(n int) {}

// ExpectWrite starts to fetch the line of p for writing. There is no such hint
// here.
func ExpectWrite(p *byte) {}

// ExpectRead starts to fetch the line of p for reading. There is no such hint
// here.
func ExpectRead(p *byte) {}

// ExpectOnce is ExpectRead of what is read once and soon. There is no such hint here.
func ExpectOnce(p *byte) {}
