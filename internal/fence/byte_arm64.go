//go:build !race

package fence

// observeByte loads one byte with acquire ordering towards CPUs.
//
//go:noescape
func observeByte(p *byte) byte

// publishByte stores one byte with release ordering towards CPUs.
//
//go:noescape
func publishByte(p *byte, v byte)
