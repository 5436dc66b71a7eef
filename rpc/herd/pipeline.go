package herd

// stages is how many requests wait in the pipeline: one whose index entry is on its
// way, one whose item is.
const stages = 2

// pipeline holds requests that were taken and not served, oldest first.
type pipeline struct {
	on         bool
	flushPolls int
	empty      int // looks in vain since something was found
	count      int
	first      int
	places     [stages + 1]taken // one more: the request that is just being taken
}

// taken is a request that its core has copied.
type taken struct {
	chunk  *chunk
	slot   int
	number uint64
	hash   uint64
	msg    []byte
	buf    []byte
}

func (p *pipeline) init(cfg *ServerConfig) {
	p.on, p.flushPolls = cfg.Expect != nil && !cfg.NoPrefetch, cfg.FlushPolls
	for i := range p.places {
		p.places[i].buf = make([]byte, cfg.SlotSize)
	}
}

func (p *pipeline) busy() bool { return p.count != 0 }

// at returns the i-th place, counted from the oldest request.
func (p *pipeline) at(i int) *taken {
	if i += p.first; i >= len(p.places) {
		i -= len(p.places)
	}
	return &p.places[i]
}

// pop forgets the oldest request.
func (p *pipeline) pop() {
	p.places[p.first].chunk = nil
	p.count--
	if p.first++; p.first == len(p.places) {
		p.first = 0
	}
}

// push takes the request that was copied into the next place, and serves the one that
// falls out of the pipeline. Prefetches come first, so that memory is in flight while
// the reply is posted.
func (c *core) push() {
	p := &c.pipe
	p.empty = 0
	p.count++
	if !p.on {
		c.serve(p.at(0))
		p.pop()
		return
	}
	expect := c.server.cfg.Expect
	expect(c.Index, 0, p.at(p.count-1).hash)
	if p.count > 1 {
		expect(c.Index, 1, p.at(p.count-2).hash)
	}
	if p.count > stages {
		c.serve(p.at(0))
		p.pop()
	}
}

// idle counts looks in vain, and moves the pipeline by no-ops when there were many
// (H10). It reports whether it did.
func (c *core) idle() bool {
	p := &c.pipe
	p.empty += max(len(c.hot.All), 1)
	return p.empty >= p.flushPolls && c.Flush()
}

// Flush moves the pipeline by no-ops until it is empty, and reports whether it was not.
func (c *core) Flush() bool {
	c.pipe.empty = 0
	worked := c.pipe.busy()
	for c.pipe.busy() {
		if c.flush(); c.Panic != nil {
			c.goOn()
		}
	}
	return worked
}

// flush does so until a handler panics.
func (c *core) flush() {
	defer c.Catch()
	p := &c.pipe
	for p.count != 0 {
		c.stats.noops.Add(1)
		if p.count > 1 {
			// The newest one has not been in stage 1.
			c.server.cfg.Expect(c.Index, 1, p.at(p.count-1).hash)
		}
		c.serve(p.at(0))
		p.pop()
	}
}
