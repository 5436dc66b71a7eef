package loop

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/direct"
)

// GramAddress implements direct.Provider.
func (d *hooks) GramAddress(q *direct.QP) ([]byte, error) {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	id := rand.Uint64()
	d.net.grams[id] = q
	d.mu.Lock()
	d.addresses[q.Num()] = id
	d.mu.Unlock()
	return binary.LittleEndian.AppendUint64([]byte("loop"), id), nil
}

// GramClosed implements direct.Provider.
func (d *hooks) GramClosed(q *direct.QP) {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if id, ok := d.addresses[q.Num()]; ok {
		delete(d.net.grams, id)
		delete(d.addresses, q.Num())
	}
}

// GramOpen implements direct.Provider.
func (d *hooks) GramOpen(_ context.Context, addr []byte) (*direct.GramPath, error) {
	if len(addr) != 12 || string(addr[:4]) != "loop" {
		return nil, fmt.Errorf("fabric: %x is not the address of a loop datagram queue pair: %w", addr, fabric.ErrInvalid)
	}
	d.net.mu.Lock()
	q := d.net.grams[binary.LittleEndian.Uint64(addr[4:])]
	d.net.mu.Unlock()
	if q == nil || q.State() != fabric.StateReady {
		return nil, fmt.Errorf("fabric: the datagram queue pair at this address is closed: %w", fabric.ErrRefused)
	}
	mem := direct.HeapBytes(direct.GramSegmentBytes(), pageSize)
	ring := q.AddGramRing(mem, func() {})
	return &direct.GramPath{Mem: mem, Wake: q.RecvPipe(), Release: func() { q.RemoveGramRing(ring) }}, nil
}
