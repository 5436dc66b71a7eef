package cycles

import "time"

// calibration is how long the counter is compared with the clock. A clock read
// is good to about 100 ns, so 20 ms make the rate good to about 10 ppm.
const calibration = 20 * time.Millisecond

func nanosPerTick() float64 {
	startTime, startTick := sample()
	for time.Since(startTime) < calibration {
	}
	endTime, endTick := sample()
	return float64(endTime.Sub(startTime)) / float64(endTick-startTick)
}

// sample reads clock and counter at the same moment: of several tries the one
// in which the clock read took least, so that an interruption does not count.
func sample() (time.Time, uint64) {
	var bestTime time.Time
	var bestTick uint64
	shortest := ^uint64(0)
	for range 16 {
		before := Now()
		now := time.Now()
		took := Now() - before
		if took < shortest {
			shortest, bestTime, bestTick = took, now, before+took/2
		}
	}
	return bestTime, bestTick
}
