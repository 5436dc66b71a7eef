package load

import (
	"github.com/remora-kv/remora/fabric"
)

// Verbs is how many operations were posted.
type Verbs struct{ Write, Read, Send, Atomic uint64 }

// VerbsOf counts what a device, a queue pair or a connection has posted.
func VerbsOf(k *fabric.Counters) Verbs {
	return Verbs{
		Write:  k.Out[fabric.OpWrite] + k.Out[fabric.OpWriteImm],
		Read:   k.Out[fabric.OpRead],
		Send:   k.Out[fabric.OpSend],
		Atomic: k.Out[fabric.OpFetchAdd] + k.Out[fabric.OpCmpSwap],
	}
}

// Plus adds.
func (v Verbs) Plus(o Verbs) Verbs {
	return Verbs{v.Write + o.Write, v.Read + o.Read, v.Send + o.Send, v.Atomic + o.Atomic}
}

// Minus subtracts.
func (v Verbs) Minus(o Verbs) Verbs {
	return Verbs{v.Write - o.Write, v.Read - o.Read, v.Send - o.Send, v.Atomic - o.Atomic}
}

// VerbsPerOp are verbs that one operation takes.
type VerbsPerOp struct {
	Write  float64 `json:"write"`
	Read   float64 `json:"read"`
	Send   float64 `json:"send"`
	Atomic float64 `json:"atomic"`
}

// Per divides by a number of operations.
func (v Verbs) Per(ops uint64) VerbsPerOp {
	if ops == 0 {
		return VerbsPerOp{}
	}
	one := func(n uint64) float64 { return Round(float64(n)/float64(ops), 4) }
	return VerbsPerOp{one(v.Write), one(v.Read), one(v.Send), one(v.Atomic)}
}
