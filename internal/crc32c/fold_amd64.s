#include "textflag.h"

// x^(D+32) and x^(D-32) mod P, reflected, for distances of D bits.
DATA by2048<>+0(SB)/8, $0x0dcb17aa4
DATA by2048<>+8(SB)/8, $0x0b9e02b86
GLOBL by2048<>(SB), RODATA|NOPTR, $16

DATA by512<>+0(SB)/8, $0x0740eef02
DATA by512<>+8(SB)/8, $0x09e4addf8
GLOBL by512<>(SB), RODATA|NOPTR, $16

DATA by128<>+0(SB)/8, $0x0f20c0dfe
DATA by128<>+8(SB)/8, $0x14cd00bd6
GLOBL by128<>(SB), RODATA|NOPTR, $16

// FOLD multiplies x, and adds what is at next; it needs t.
#define FOLD(next, x, t) \
	VPCLMULQDQ $0x00, Z5, x, t; \
	VPCLMULQDQ $0x11, Z5, x, x; \
	VPTERNLOGQ $0x96, next, t, x

// LANE multiplies what is in X3, and adds the lane next.
#define LANE(next) \
	VPCLMULQDQ $0x00, X5, X3, X6; \
	VPCLMULQDQ $0x11, X5, X3, X3; \
	VPXOR      X6, X3, X3; \
	VPXOR      next, X3, X3

// func fold(state uint32, p *byte, n int) uint32
TEXT ·fold(SB), NOSPLIT, $0-28
	MOVL      state+0(FP), AX
	MOVQ      p+8(FP), SI
	MOVQ      n+16(FP), CX
	VMOVDQU64 0(SI), Z0
	VMOVDQU64 64(SI), Z1
	VMOVDQU64 128(SI), Z2
	VMOVDQU64 192(SI), Z3
	VMOVD     AX, X4 // and zeros above
	VPXORQ    Z4, Z0, Z0
	VBROADCASTI32X4 by2048<>(SB), Z5
	SUBQ      $256, CX
	JEQ       reduce
	PCALIGN   $32
loop:
	FOLD(256(SI), Z0, Z6)
	FOLD(320(SI), Z1, Z7)
	FOLD(384(SI), Z2, Z8)
	FOLD(448(SI), Z3, Z9)
	ADDQ      $256, SI
	SUBQ      $256, CX
	JNE       loop
reduce:
	VBROADCASTI32X4 by512<>(SB), Z5
	FOLD(Z1, Z0, Z6)
	FOLD(Z2, Z0, Z6)
	FOLD(Z3, Z0, Z6)
	VMOVDQU   by128<>(SB), X5
	VEXTRACTI32X4 $1, Z0, X1
	VEXTRACTI32X4 $2, Z0, X2
	VEXTRACTI32X4 $3, Z0, X4
	VMOVDQA   X0, X3
	LANE(X1)
	LANE(X2)
	LANE(X4)
	VMOVQ     X3, AX
	VPEXTRQ   $1, X3, DX
	XORL      BX, BX
	CRC32Q    AX, BX
	CRC32Q    DX, BX
	VZEROUPPER
	MOVL      BX, ret+24(FP)
	RET
