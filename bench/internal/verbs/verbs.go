// Package verbs counts the verbs of a measurement: what both sides have posted,
// and how many an operation takes.
package verbs

import (
	"github.com/remora-kv/remora/bench/internal/report"
	"github.com/remora-kv/remora/fabric"
)

// Count is how many operations were posted.
type Count struct{ Write, Read, Send, Atomic uint64 }

// Of counts what a device, a queue pair or a connection has posted.
func Of(k *fabric.Counters) Count {
	return Count{
		Write:  k.Out[fabric.OpWrite] + k.Out[fabric.OpWriteImm],
		Read:   k.Out[fabric.OpRead],
		Send:   k.Out[fabric.OpSend],
		Atomic: k.Out[fabric.OpFetchAdd] + k.Out[fabric.OpCmpSwap],
	}
}

// Plus adds.
func (v Count) Plus(o Count) Count {
	return Count{v.Write + o.Write, v.Read + o.Read, v.Send + o.Send, v.Atomic + o.Atomic}
}

// Minus subtracts.
func (v Count) Minus(o Count) Count {
	return Count{v.Write - o.Write, v.Read - o.Read, v.Send - o.Send, v.Atomic - o.Atomic}
}

// PerOp are verbs that one operation takes.
type PerOp struct {
	Write  float64 `json:"write"`
	Read   float64 `json:"read"`
	Send   float64 `json:"send"`
	Atomic float64 `json:"atomic"`
}

// Per divides by a number of operations.
func (v Count) Per(ops uint64) PerOp {
	if ops == 0 {
		return PerOp{}
	}
	one := func(n uint64) float64 { return report.Round(float64(n)/float64(ops), 4) }
	return PerOp{one(v.Write), one(v.Read), one(v.Send), one(v.Atomic)}
}
