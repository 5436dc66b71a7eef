package cachetest

import "time"

// ByPorcupine reports whether the history of one key is linearizable by the search
// of Porcupine, and whether that came to an end.
func ByPorcupine(ops []Operation, limit time.Duration) (linearizable, known bool) {
	result, _ := byPorcupine(ops, limit)
	return result == "Ok", result != "Unknown"
}
