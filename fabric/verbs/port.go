//go:build rdma

package verbs

import (
	"slices"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
	"github.com/remora-kv/remora/internal/gid"
)

// portGrace is how long a port may be down before the queue pairs end that reach peers through
// it: as long as a control connection takes to notice that a host is silent. Until then RC repeats
// what is not acknowledged, as often as Tuning says.
const portGrace = silentHost

// portDown gives the port time to return.
func (r *eventReader) portDown(d *Device, name string) {
	if r.down != "" {
		return
	}
	r.down = name
	_ = r.file.SetReadDeadline(base.Until(portGrace))
	d.log.Warn("RDMA port is down: connections end if it does not return",
		"device", d.Name(), "port", d.adapter.Load().choice.Port, "within", time.Duration(portGrace))
}

// portUp ends the wait for the port.
func (r *eventReader) portUp(d *Device) {
	_ = r.file.SetReadDeadline(time.Time{})
	if r.down != "" {
		r.down = ""
		d.log.Info("RDMA port is active again", "device", d.Name(), "port", d.adapter.Load().choice.Port)
	}
}

// portIsLate is called when the time of a port that is down is over.
func (r *eventReader) portIsLate(d *Device) {
	name := r.down
	r.portUp(d)
	a := d.adapter.Load()
	if p, err := a.ctx.port(a.choice.Port); err == nil && p.active {
		return
	}
	d.log.Error("RDMA port stays down: its connections end", "device", d.Name(), "port", a.choice.Port)
	d.lose(name, func(q *QP) bool { return q.transport != fabric.UD })
}

// refresh looks at the port again, because its GIDs, its LID or its partition keys may have changed. What
// is connected from now on uses what the port has now. Open queue pairs keep the addresses that they
// were connected with; where peers cannot reach those any more, requests are not acknowledged and the
// queue pair ends with ErrPeerLost.
func (d *Device) refresh() {
	old := d.adapter.Load()
	next, err := old.again(d.cfg)
	log := d.log.With("device", d.Name(), "port", old.choice.Port)
	if err != nil {
		log.Error("RDMA port has changed, new connections fail until it is mended", "error", err)
		return
	}
	if err := next.checkTuning(&next.tuning); err != nil {
		log.Error("RDMA port has changed, new connections fail until it is mended", "error", err)
	}
	if old.port == next.port && old.choice == next.choice {
		return
	}
	d.adapter.Store(next)
	if old.choice.GID == next.choice.GID && old.port.lid == next.port.lid {
		return
	}
	log.Warn("RDMA port has another address: new connections use it, older ones end where peers cannot reach them",
		"gid", next.choice.GID.Index, "choice", next.choice.String(), "before", old.choice.String(),
		"lid", next.port.lid, "lid before", old.port.lid)
	d.mu.Lock()
	m := d.manager
	d.noManager = nil // where there was no address, there may be one
	d.mu.Unlock()
	if m == nil {
		return
	}
	err = m.move(next)
	d.mu.Lock()
	d.noManager = err
	d.mu.Unlock()
	if err != nil {
		log.Warn("RDMA connection manager is not used any more", "error", err)
	}
}

// again returns the adapter as it is now. A GID that the port still has is kept.
func (a *adapter) again(cfg Config) (*adapter, error) {
	cfg.Port = a.choice.Port
	next := &adapter{ctx: a.ctx, choice: Choice{Device: a.choice.Device}, tuning: a.tuning, vectors: a.vectors}
	if err := next.choose(cfg, routeTo(cfg.Near)); err != nil {
		return nil, err
	}
	same := func(e gid.Entry) bool { return e.Index == a.choice.GID.Index && e.Addr == a.choice.GID.Addr }
	if slices.ContainsFunc(a.gids(a.choice.Port), same) {
		next.choice.GID, next.choice.Near = a.choice.GID, a.choice.Near
	}
	return next, nil
}
