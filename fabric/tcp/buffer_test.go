package tcp

import (
	"runtime"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/test/scale"
)

// buffered is what a device holds in buffers.
func buffered(d *Device) (n int64) {
	for _, u := range d.Memory() {
		if u.Purpose == "tcp buffers" {
			n += u.Bytes
		}
	}
	return n
}

// heap is what the collector leaves of the Go heap, after what pools keep is gone, too.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// I7: connections that have moved much and are idle hold no buffers, and neither does their end.
func TestIdleConnectionsHoldNoBuffers(t *testing.T) {
	const size = 1 << 20
	server := newDevice(t, Config{})
	client := newDevice(t, Config{})
	conns := scale.Times(200)
	a := newEnd(t, server, fabric.RC, 4*conns, size)
	b := newEnd(t, client, fabric.RC, 4*conns, size)
	defer a.close()
	defer b.close()
	a.cfg.SendDepth, a.cfg.RecvDepth = 4, 4
	b.cfg.SendDepth, b.cfg.RecvDepth = 4, 4
	idle, before := buffered(server), heap()
	var all []fabric.QP
	for range conns {
		connect(t, a, b)
		b.post(
			fabric.WR{Op: fabric.OpRead, Local: b.mem.Seg(0, size), Remote: a.mem.Remote(), Flags: fabric.FlagSignaled},
			fabric.WR{Op: fabric.OpWrite, Local: b.mem.Seg(0, size), Remote: a.mem.Remote(), Flags: fabric.FlagSignaled})
		b.ok(2, a)
		all = append(all, a.qp, b.qp)
	}
	// The last acknowledgement may still be on its way out.
	await(t, "the buffers to be given back", func() bool {
		a.poll()
		b.poll()
		return buffered(server) == idle && buffered(client) == idle
	})
	if each := (heap() - before) / int64(len(all)); each > 16<<10 {
		t.Errorf("a connection that is idle keeps %d bytes", each)
	}
	for _, qp := range all {
		if err := qp.Close(); err != nil {
			t.Error(err)
		}
	}
	a.qp, b.qp = nil, nil
}

// What a peer asked for and does not read is counted until its connection has ended.
func TestBuffersOfAPeerThatDoesNotRead(t *testing.T) {
	a := newEnd(t, newDevice(t, Config{SocketBuffer: 4 << 10}), fabric.RC, 8, 1<<20)
	defer a.close()
	l, err := a.dev.Listen(fabric.Addr{Fabric: "tcp", Name: "127.0.0.1:0"}, fabric.ListenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	idle := buffered(a.dev)
	raw, qp := greetRaw(t, l, a)
	_ = raw.SetReadBuffer(4 << 10)
	for seq := range uint32(3) {
		f := frame{kind: kindRead, seq: seq + 1, arg: a.mem.Remote().Key, addr: a.mem.Remote().Addr, total: maxFragment}
		if _, err := raw.Write(f.encode()); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "the responses to wait", func() bool {
		a.poll()
		return buffered(a.dev) > idle
	})
	if n := buffered(a.dev) - idle; n > maxOut {
		t.Errorf("%d bytes are held for one peer", n)
	}
	_ = raw.Close()
	await(t, "the connection to end and its buffer to be given back", func() bool {
		a.poll()
		return qp.State() != fabric.StateReady && buffered(a.dev) == idle
	})
	_ = qp.Close()
}
