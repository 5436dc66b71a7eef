//go:build !race

#include "textflag.h"

// func copyPast(dst, src *byte, n int)
//
// dst is aligned to 32 bytes, and n is a multiple of 128, not 0.
TEXT ·copyPast(SB), NOSPLIT, $0-24
	MOVQ  dst+0(FP), DI
	MOVQ  src+8(FP), SI
	MOVQ  n+16(FP), CX
	PCALIGN $32
loop:
	VMOVDQU  0(SI), Y0
	VMOVDQU  32(SI), Y1
	VMOVDQU  64(SI), Y2
	VMOVDQU  96(SI), Y3
	VMOVNTDQ Y0, 0(DI)
	VMOVNTDQ Y1, 32(DI)
	VMOVNTDQ Y2, 64(DI)
	VMOVNTDQ Y3, 96(DI)
	ADDQ  $128, SI
	ADDQ  $128, DI
	SUBQ  $128, CX
	JNE   loop
	VZEROUPPER
	RET

// func Drain()
TEXT ·Drain(SB), NOSPLIT, $0-0
	SFENCE
	RET
