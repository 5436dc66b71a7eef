//go:build !race

#include "textflag.h"

// func observeByte(p *byte) byte
TEXT ·observeByte(SB), NOSPLIT, $0-9
	MOVD  p+0(FP), R0
	LDARB (R0), R1
	MOVB  R1, ret+8(FP)
	RET

// func publishByte(p *byte, v byte)
TEXT ·publishByte(SB), NOSPLIT, $0-9
	MOVD  p+0(FP), R0
	MOVBU v+8(FP), R1
	STLRB R1, (R0)
	RET
