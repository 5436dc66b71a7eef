//go:build !race

package fence

// ObserveByte loads one byte with acquire ordering (F1).
//
//go:noescape
func ObserveByte(p *byte) byte

// PublishByte stores one byte with release ordering (F1).
//
//go:noescape
func PublishByte(p *byte, v byte)
