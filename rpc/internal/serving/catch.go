package serving

import "github.com/remora-kv/remora/rpc"

// Catch is deferred by a function of a core in which handlers are called, with Handling set. Where
// one has panicked, Panic is the error of its call when the function has returned, and the core goes
// on behind that call. A panic of anything else is not recovered.
func (c *Core) Catch() {
	if c.Handling {
		c.caught(recover())
	}
}

func (c *Core) caught(v any) {
	if v != nil { // nil: the goroutine ends
		c.Handling, c.Panic = false, rpc.Panicked(&c.Call, c.Log, v)
	}
}
