//go:build !linux

package arena

// poisonResident poisons all of mem (A5): which pages exist nobody says.
func poisonResident(mem []byte) { fill(mem, Poison) }
