package fabric

// Counters are operations executed by one queue pair or one device. The papers
// compare their in-bound and out-bound numbers.
type Counters struct {
	// Out counts operations initiated here, by kind. Out[OpRecv] stays 0.
	Out [NumOps]uint64
	// In counts operations of the peer: one-sided ones at this memory by their
	// own kind, and its SENDs, as received, under OpRecv. In[OpSend] stays 0.
	In [NumOps]uint64
	// OutBytes and InBytes are their payloads.
	OutBytes, InBytes uint64
	// Dropped counts messages of UC and UD that were thrown away here.
	Dropped uint64
	// Errors counts completions with an error other than flushes.
	Errors uint64
}

// Add adds o to c.
func (c *Counters) Add(o *Counters) {
	for i := range c.Out {
		c.Out[i] += o.Out[i]
		c.In[i] += o.In[i]
	}
	c.OutBytes += o.OutBytes
	c.InBytes += o.InBytes
	c.Dropped += o.Dropped
	c.Errors += o.Errors
}

// Sub returns what was counted in c since o.
func (c Counters) Sub(o Counters) Counters {
	for i := range c.Out {
		c.Out[i] -= o.Out[i]
		c.In[i] -= o.In[i]
	}
	c.OutBytes -= o.OutBytes
	c.InBytes -= o.InBytes
	c.Dropped -= o.Dropped
	c.Errors -= o.Errors
	return c
}
