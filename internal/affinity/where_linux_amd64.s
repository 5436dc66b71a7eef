#include "textflag.h"

// func hasAux() bool
TEXT ·hasAux(SB), NOSPLIT, $0-1
	MOVL $0x80000000, AX
	CPUID
	CMPL AX, $0x80000001
	JB   none
	MOVL $0x80000001, AX
	CPUID
	SHRL $27, DX
	ANDL $1, DX
	MOVB DX, ret+0(FP)
	RET

none:
	MOVB $0, ret+0(FP)
	RET

// func counterAndAux() (counter uint64, aux uint32)
TEXT ·counterAndAux(SB), NOSPLIT, $0-12
	RDTSCP
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, counter+0(FP)
	MOVL CX, aux+8(FP)
	RET
