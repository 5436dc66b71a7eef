package cycles

// frequency reads the rate of the counter in Hz, as the firmware has set it.
//
//go:noescape
func frequency() uint64

func nanosPerTick() float64 { return 1e9 / float64(frequency()) }
