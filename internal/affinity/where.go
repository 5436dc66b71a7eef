package affinity

// Place is a CPU, and the time at which a thread ran there, in ticks of some tenths of a millisecond.
// Threads of different processes of one machine can compare theirs, so it fits a word that they
// share. 0 is no place.
type Place uint32

const (
	cpuBits   = 12
	tickMask  = 1<<(32-cpuBits-1) - 1
	someplace = 1 << 31
	// recent is how many ticks after it was taken a place says where a thread is.
	recent = 4
)

// At returns the place that a CPU is at a tick.
func At(cpu uint32, tick uint64) Place {
	return Place(someplace | uint32(tick&tickMask)<<cpuBits | cpu&(1<<cpuBits-1))
}

// CPU returns the CPU of a place.
func (p Place) CPU() int { return int(p & (1<<cpuBits - 1)) }

// With reports whether a thread was at other on the same CPU, and not long before p.
func (p Place) With(other Place) bool {
	return p&other&someplace != 0 && (p^other)&(1<<cpuBits-1) == 0 && uint32(p-other)>>cpuBits&tickMask <= recent
}
