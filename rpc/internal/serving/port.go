package serving

import "github.com/remora-kv/remora/fabric"

// Port is a device as one core uses it: the completion queue of its sessions there.
type Port struct {
	Dev   fabric.Device
	CQ    fabric.CQ
	comps [64]fabric.Completion
	kept  int // completions that Keep has taken
}

// Init makes the queue, with room for depth completions as far as the device allows it.
func (p *Port) Init(dev fabric.Device, depth int) (err error) {
	p.Dev = dev
	p.CQ, err = dev.NewCQ(min(depth, dev.Limits().MaxCQDepth))
	return err
}

// Take returns the completions that there are. They are valid until the next call.
func (p *Port) Take() []fabric.Completion {
	n := p.kept
	if p.kept = 0; n == 0 {
		n = p.CQ.Poll(p.comps[:])
	}
	return p.comps[:n]
}

// Keep takes completions and keeps them for Take. It reports whether there are any.
func (p *Port) Keep() bool {
	if p.kept == 0 {
		p.kept = p.CQ.Poll(p.comps[:])
	}
	return p.kept != 0
}
