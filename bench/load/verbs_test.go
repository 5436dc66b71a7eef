package load

import (
	"testing"

	"github.com/remora-kv/remora/fabric"
)

func TestVerbsOfADevice(t *testing.T) {
	var k fabric.Counters
	for op := range fabric.NumOps {
		k.Out[op] = 1 << op
	}
	before := VerbsOf(&k)
	want := Verbs{
		Write: 1<<fabric.OpWrite + 1<<fabric.OpWriteImm, Read: 1 << fabric.OpRead,
		Send: 1 << fabric.OpSend, Atomic: 1<<fabric.OpFetchAdd + 1<<fabric.OpCmpSwap,
	}
	if before != want {
		t.Errorf("%+v, want %+v", before, want)
	}
	k.Out[fabric.OpRead] += 3
	spent := VerbsOf(&k).Minus(before).Plus(Verbs{Write: 2, Send: 1})
	if got := spent.Per(2); got != (VerbsPerOp{Write: 1, Read: 1.5, Send: 0.5}) {
		t.Errorf("an operation takes %+v", got)
	}
	if got := spent.Per(0); got != (VerbsPerOp{}) {
		t.Errorf("no operation takes %+v", got)
	}
}
