//go:build !race

package fence

// observeByte loads one byte with acquire ordering towards CPUs.
func observeByte(p *byte) byte {
	v := *p
	compilerBarrier()
	return v
}

// publishByte stores one byte with release ordering towards CPUs.
func publishByte(p *byte, v byte) {
	compilerBarrier()
	*p = v
	compilerBarrier()
}
