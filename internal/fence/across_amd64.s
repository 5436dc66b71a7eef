//go:build !race

#include "textflag.h"

// LINE copies 64 bytes, and moves on.
#define LINE(src, dst) \
	VMOVDQU 0(src), Y0; \
	VMOVDQU 32(src), Y1; \
	VMOVDQU Y0, 0(dst); \
	VMOVDQU Y1, 32(dst); \
	ADDQ    $64, src; \
	ADDQ    $64, dst

// func copyAcross(dst, src *byte, quarter int)
//
// quarter is a multiple of 64, and not 0.
TEXT ·copyAcross(SB), NOSPLIT, $0-24
	MOVQ  dst+0(FP), DI
	MOVQ  src+8(FP), SI
	MOVQ  quarter+16(FP), CX
	LEAQ  (DI)(CX*1), R8
	LEAQ  (DI)(CX*2), R9
	LEAQ  (R8)(CX*2), R10
	LEAQ  (SI)(CX*1), R11
	LEAQ  (SI)(CX*2), R12
	LEAQ  (R11)(CX*2), R13
	PCALIGN $32
loop:
	// A line that a peer has read last has to be taken from it before it can be written.
	BYTE $0x0F; BYTE $0x0D; BYTE $0x8F; LONG $256             // PREFETCHW 256(DI)
	BYTE $0x41; BYTE $0x0F; BYTE $0x0D; BYTE $0x88; LONG $256 // PREFETCHW 256(R8)
	BYTE $0x41; BYTE $0x0F; BYTE $0x0D; BYTE $0x89; LONG $256 // PREFETCHW 256(R9)
	BYTE $0x41; BYTE $0x0F; BYTE $0x0D; BYTE $0x8A; LONG $256 // PREFETCHW 256(R10)
	LINE(SI, DI)
	LINE(R11, R8)
	LINE(R12, R9)
	LINE(R13, R10)
	SUBQ  $64, CX
	JNE   loop
	VZEROUPPER
	RET
