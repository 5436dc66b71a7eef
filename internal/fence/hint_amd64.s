#include "textflag.h"

// func Pause()
TEXT ·Pause(SB), NOSPLIT, $0-0
	PAUSE
	RET

// func PauseN(n int)
TEXT ·PauseN(SB), NOSPLIT, $0-8
	MOVQ  n+0(FP), CX
	TESTQ CX, CX
	JLE   done
again:
	PAUSE
	DECQ  CX
	JNE   again
done:
	RET

// func ExpectWrite(p *byte)
TEXT ·ExpectWrite(SB), NOSPLIT, $0-8
	MOVQ  p+0(FP), AX
	BYTE  $0x0F; BYTE $0x0D; BYTE $0x08 // PREFETCHW (AX), a NOP where unknown
	RET

// func ExpectRead(p *byte)
TEXT ·ExpectRead(SB), NOSPLIT, $0-8
	MOVQ  p+0(FP), AX
	PREFETCHT0 (AX)
	RET

// func ExpectOnce(p *byte)
TEXT ·ExpectOnce(SB), NOSPLIT, $0-8
	MOVQ  p+0(FP), AX
	PREFETCHNTA (AX)
	RET
