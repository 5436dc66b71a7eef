#include "textflag.h"

// func orderStores()
TEXT ·orderStores(SB), NOSPLIT, $0-0
	DMB $0x2 // OSHST
	RET

// func orderLoads()
TEXT ·orderLoads(SB), NOSPLIT, $0-0
	DMB $0x1 // OSHLD
	RET

// func orderAll()
TEXT ·orderAll(SB), NOSPLIT, $0-0
	DMB $0x3 // OSH
	RET
