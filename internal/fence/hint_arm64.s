#include "textflag.h"

// func Pause()
TEXT ·Pause(SB), NOSPLIT, $0-0
	YIELD
	RET

// func PauseN(n int)
TEXT ·PauseN(SB), NOSPLIT, $0-8
	MOVD n+0(FP), R0
	CMP  $0, R0
	BLE  done
again:
	YIELD
	SUBS $1, R0, R0
	BNE  again
done:
	RET

// func ExpectWrite(p *byte)
TEXT ·ExpectWrite(SB), NOSPLIT, $0-8
	MOVD  p+0(FP), R0
	PRFM  (R0), PSTL1KEEP
	RET

// func ExpectRead(p *byte)
TEXT ·ExpectRead(SB), NOSPLIT, $0-8
	MOVD  p+0(FP), R0
	PRFM  (R0), PLDL1KEEP
	RET

// func ExpectOnce(p *byte)
TEXT ·ExpectOnce(SB), NOSPLIT, $0-8
	MOVD  p+0(FP), R0
	PRFM  (R0), PLDL1STRM
	RET
