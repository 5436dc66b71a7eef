package crc32c

import "golang.org/x/sys/cpu"

// canFold says whether this CPU has what fold needs.
var canFold = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VPCLMULQDQ && cpu.X86.HasSSE42

// fold takes n bytes into the state of a checksum; n is a multiple of foldStep, and not 0.
//
//go:noescape
func fold(state uint32, p *byte, n int) uint32
