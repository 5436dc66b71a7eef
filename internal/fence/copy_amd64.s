//go:build !race

#include "textflag.h"

// Both copies are the same code but for the side that decides the alignment:
// the shared one. Under TSO, ascending stores become visible, and ascending
// loads happen, in that order, so program order is all that is needed.

#define WORDS64 \
	MOVQ  0(SI), AX; \
	MOVQ  8(SI), BX; \
	MOVQ  16(SI), DX; \
	MOVQ  24(SI), R8; \
	MOVQ  32(SI), R9; \
	MOVQ  40(SI), R10; \
	MOVQ  48(SI), R11; \
	MOVQ  56(SI), R12; \
	MOVQ  AX, 0(DI); \
	MOVQ  BX, 8(DI); \
	MOVQ  DX, 16(DI); \
	MOVQ  R8, 24(DI); \
	MOVQ  R9, 32(DI); \
	MOVQ  R10, 40(DI); \
	MOVQ  R11, 48(DI); \
	MOVQ  R12, 56(DI)

// WIDE copies 128 bytes with four loads and four stores of 32, which on the shared side are
// aligned to 32. The manuals let a CPU execute such an access in parts and in any order. The
// CPUs that have AVX keep aligned words whole and parts in order; for what must not depend on
// that, BODY copies the first word and the last by themselves.
#define WIDE \
	VMOVDQU 0(SI), Y0; \
	VMOVDQU 32(SI), Y1; \
	VMOVDQU 64(SI), Y2; \
	VMOVDQU 96(SI), Y3; \
	VMOVDQU Y0, 0(DI); \
	VMOVDQU Y1, 32(DI); \
	VMOVDQU Y2, 64(DI); \
	VMOVDQU Y3, 96(DI)

// EXPECT starts to fetch the two lines that the loop comes to in a while: of the
// source for reading, 1024 bytes ahead, and of the destination for writing, 512. The
// prefetchers of the CPU see one stream of loads and stop at every page; and a line
// that a peer has read last has to be taken from it before it can be written.
#define EXPECT \
	PREFETCHT0 1024(SI); \
	PREFETCHT0 1088(SI); \
	BYTE $0x0F; BYTE $0x0D; BYTE $0x8F; LONG $512; /* PREFETCHW 512(DI) */ \
	BYTE $0x0F; BYTE $0x0D; BYTE $0x8F; LONG $576  /* PREFETCHW 576(DI) */

// BODY copies CX bytes, CX >= 0, from SI to DI, the shared side being aligned to
// 8 bytes or CX being less than its alignment. It copies the first word, and more until the
// shared side is aligned to 32, before wide accesses, and at least the last word after them.
#define BODY(shared) \
	CMPQ  CX, $256; \
	JLT   narrow; \
	CMPB  ·hasAVX(SB), $0; \
	JEQ   narrow; \
first: \
	MOVQ  0(SI), AX; \
	MOVQ  AX, 0(DI); \
	ADDQ  $8, SI; \
	ADDQ  $8, DI; \
	SUBQ  $8, CX; \
	TESTQ $31, shared; \
	JNE   first; \
	CMPQ  CX, $4096; \
	JLT   wide; \
	PCALIGN $32; \
long: \
	EXPECT; \
	WIDE; \
	ADDQ  $128, SI; \
	ADDQ  $128, DI; \
	SUBQ  $128, CX; \
	CMPQ  CX, $1280; \
	JGE   long; \
	PCALIGN $32; \
wide: \
	WIDE; \
	ADDQ  $128, SI; \
	ADDQ  $128, DI; \
	SUBQ  $128, CX; \
	CMPQ  CX, $136; \
	JGE   wide; \
wide32: \
	CMPQ  CX, $40; \
	JLT   last; \
	VMOVDQU 0(SI), Y0; \
	VMOVDQU Y0, 0(DI); \
	ADDQ  $32, SI; \
	ADDQ  $32, DI; \
	SUBQ  $32, CX; \
	JMP   wide32; \
last: /* 8 to 39 bytes */ \
	VZEROUPPER; \
	JMP   rest; \
narrow: \
	SUBQ  $64, CX; \
	JLT   rest; \
	PCALIGN $32; \
loop: \
	WORDS64; \
	ADDQ  $64, SI; \
	ADDQ  $64, DI; \
	SUBQ  $64, CX; \
	JGE   loop; \
	TESTQ $63, CX; \
	JEQ   done; \
rest: \
	TESTQ $32, CX; \
	JEQ   rest16; \
	MOVQ  0(SI), AX; \
	MOVQ  8(SI), BX; \
	MOVQ  16(SI), DX; \
	MOVQ  24(SI), R8; \
	MOVQ  AX, 0(DI); \
	MOVQ  BX, 8(DI); \
	MOVQ  DX, 16(DI); \
	MOVQ  R8, 24(DI); \
	ADDQ  $32, SI; \
	ADDQ  $32, DI; \
rest16: \
	TESTQ $16, CX; \
	JEQ   rest8; \
	MOVQ  0(SI), AX; \
	MOVQ  8(SI), BX; \
	MOVQ  AX, 0(DI); \
	MOVQ  BX, 8(DI); \
	ADDQ  $16, SI; \
	ADDQ  $16, DI; \
rest8: \
	TESTQ $8, CX; \
	JEQ   tail; \
	MOVQ  0(SI), AX; \
	MOVQ  AX, 0(DI); \
	ADDQ  $8, SI; \
	ADDQ  $8, DI; \
tail: \
	TESTQ $7, CX; \
	JEQ   done; \
	TESTQ $4, CX; \
	JEQ   tail2; \
	MOVL  0(SI), AX; \
	MOVL  AX, 0(DI); \
	ADDQ  $4, SI; \
	ADDQ  $4, DI; \
tail2: \
	TESTQ $2, CX; \
	JEQ   tail1; \
	MOVW  0(SI), AX; \
	MOVW  AX, 0(DI); \
	ADDQ  $2, SI; \
	ADDQ  $2, DI; \
tail1: \
	TESTQ $1, CX; \
	JEQ   done; \
	MOVB  0(SI), AX; \
	MOVB  AX, 0(DI); \
done: \
	RET

// HEAD copies up to 7 bytes in pieces of 1, 2 and 4 until the shared side is
// aligned to 8 bytes, and goes to the tail when the bytes run out before.
#define HEAD(shared) \
	TESTQ $1, shared; \
	JEQ   head2; \
	MOVB  0(SI), AX; \
	MOVB  AX, 0(DI); \
	INCQ  SI; \
	INCQ  DI; \
	DECQ  CX; \
head2: \
	TESTQ $2, shared; \
	JEQ   head4; \
	CMPQ  CX, $2; \
	JLT   tail; \
	MOVW  0(SI), AX; \
	MOVW  AX, 0(DI); \
	ADDQ  $2, SI; \
	ADDQ  $2, DI; \
	SUBQ  $2, CX; \
head4: \
	TESTQ $4, shared; \
	JEQ   body; \
	CMPQ  CX, $4; \
	JLT   tail; \
	MOVL  0(SI), AX; \
	MOVL  AX, 0(DI); \
	ADDQ  $4, SI; \
	ADDQ  $4, DI; \
	SUBQ  $4, CX

// func copyOut(dst, src *byte, n int)
TEXT ·copyOut(SB), NOSPLIT, $0-24
	MOVQ  dst+0(FP), DI
	MOVQ  src+8(FP), SI
	MOVQ  n+16(FP), CX
	TESTQ $7, DI
	JEQ   body
	HEAD(DI)
body:
	BODY(DI)

// func copyIn(dst, src *byte, n int)
TEXT ·copyIn(SB), NOSPLIT, $0-24
	MOVQ  dst+0(FP), DI
	MOVQ  src+8(FP), SI
	MOVQ  n+16(FP), CX
	TESTQ $7, SI
	JEQ   body
	HEAD(SI)
body:
	BODY(SI)
