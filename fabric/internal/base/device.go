package base

import (
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/arena"
)

// QPParts fills in the defaults of cfg and returns its completion queues and
// domain as the provider's own types. mine reports whether they are of the device.
func QPParts[C fabric.CQ, D fabric.Domain](cfg *fabric.QPConfig, lim *fabric.Limits, device string,
	mine func(send, recv C, dom D) bool,
) (send, recv C, dom D, err error) {
	if err = cfg.Normalize(lim); err != nil {
		return send, recv, dom, err
	}
	var ok [3]bool
	send, ok[0] = cfg.SendCQ.(C)
	recv, ok[1] = cfg.RecvCQ.(C)
	dom, ok[2] = cfg.Domain.(D)
	if ok != [3]bool{true, true, true} || !mine(send, recv, dom) {
		err = fmt.Errorf("fabric: queue pair: completion queues and domain must be of device %s: %w",
			device, fabric.ErrInvalid)
	}
	return send, recv, dom, err
}

// CQs returns the completion queues of a waiter as the provider's own type. mine
// reports whether one is of the device.
func CQs[C fabric.CQ](cqs []fabric.CQ, device string, mine func(C) bool) ([]C, error) {
	out := make([]C, 0, len(cqs))
	for _, c := range cqs {
		q, ok := c.(C)
		if !ok || !mine(q) {
			return nil, fmt.Errorf("fabric: waiter: completion queues must be of device %s: %w", device, fabric.ErrInvalid)
		}
		out = append(out, q)
	}
	return out, nil
}

// Memory returns what an arena has in use, by purpose.
func Memory(a *arena.Arena) []fabric.Usage {
	var all []fabric.Usage
	for _, u := range a.Resident() {
		all = append(all, fabric.Usage{Purpose: u.Purpose, Blocks: u.Blocks, Bytes: u.Bytes, Resident: u.Resident})
	}
	return all
}
