package call

import (
	"github.com/remora-kv/remora/bench/internal/report"
	"github.com/remora-kv/remora/fabric"
)

// verbs are counts of operations that were posted.
type verbs struct{ Write, Read, Send, Atomic uint64 }

func verbsOf(k fabric.Counters) verbs {
	return verbs{
		Write:  k.Out[fabric.OpWrite] + k.Out[fabric.OpWriteImm],
		Read:   k.Out[fabric.OpRead],
		Send:   k.Out[fabric.OpSend],
		Atomic: k.Out[fabric.OpFetchAdd] + k.Out[fabric.OpCmpSwap],
	}
}

func (v verbs) plus(o verbs) verbs {
	return verbs{v.Write + o.Write, v.Read + o.Read, v.Send + o.Send, v.Atomic + o.Atomic}
}

func (v verbs) minus(o verbs) verbs {
	return verbs{v.Write - o.Write, v.Read - o.Read, v.Send - o.Send, v.Atomic - o.Atomic}
}

// VerbsPerOp are verbs that one call takes.
type VerbsPerOp struct {
	Write  float64 `json:"write"`
	Read   float64 `json:"read"`
	Send   float64 `json:"send"`
	Atomic float64 `json:"atomic"`
}

func (v verbs) per(ops uint64) VerbsPerOp {
	if ops == 0 {
		return VerbsPerOp{}
	}
	one := func(n uint64) float64 { return report.Round(float64(n)/float64(ops), 4) }
	return VerbsPerOp{one(v.Write), one(v.Read), one(v.Send), one(v.Atomic)}
}
