//go:build !race

package fence

// ObserveByte loads one byte with acquire ordering (F1).
func ObserveByte(p *byte) byte {
	v := *p
	compilerBarrier()
	return v
}

// PublishByte stores one byte with release ordering (F1).
func PublishByte(p *byte, v byte) {
	compilerBarrier()
	*p = v
	compilerBarrier()
}
