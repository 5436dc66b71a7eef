//go:build race

package fence

// raceEnabled says whether the race detector is built in.
const raceEnabled = true
