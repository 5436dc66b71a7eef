//go:build !linux

package arena

// poisonResident poisons all of mem (A5): the system does not say which pages exist.
func poisonResident(mem []byte) { fill(mem, Poison) }
