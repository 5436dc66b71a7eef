package fabrictest

import (
	"runtime"
	"testing"

	"github.com/remora-kv/remora/fabric"
)

// Bench measures post and poll of small operations, both ends in one
// goroutine: what a provider costs, without any waiting.
func Bench(b *testing.B, newWorld func(tb testing.TB) *World) {
	const size = 64
	bench := func(name string, tr fabric.Transport, prepare func(p *pair) func()) {
		b.Run(name, func(b *testing.B) {
			t := &trial{TB: b}
			defer t.teardown()
			t.world = newWorld(t)
			t.need(tr)
			op := prepare(t.pair(pairConfig{tr: tr}))
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				op()
			}
		})
	}
	bench("READ/64", fabric.RC, func(p *pair) func() {
		return p.oneByOne(p.b.readFrom(p.a.mem.Remote(), 0, size))
	})
	bench("WRITE/64", fabric.RC, func(p *pair) func() {
		return p.oneByOne(p.b.writeTo(p.a.mem.Remote(), 0, size))
	})
	bench("WRITE-inline/64", fabric.RC, func(p *pair) func() {
		w := p.b.writeTo(p.a.mem.Remote(), 0, size)
		if p.b.dev.Limits().MaxInline >= size {
			w = inline(w)
		}
		return p.oneByOne(w)
	})
	bench("SEND/64", fabric.RC, func(p *pair) func() { return p.message(size) })
	bench("FETCH_ADD/8", fabric.RC, func(p *pair) func() {
		return p.oneByOne(p.b.fetchAdd(p.a.mem.Remote(), 0, 1))
	})
	bench("READ-chain16/64", fabric.RC, func(p *pair) func() {
		var wrs []fabric.WR
		for range 15 {
			wrs = append(wrs, unsignaled(p.b.readFrom(p.a.mem.Remote(), 0, size)))
		}
		wrs = append(wrs, p.b.readFrom(p.a.mem.Remote(), 0, size))
		return p.oneByOne(wrs...)
	})
	bench("SEND-ud/64", fabric.UD, func(p *pair) func() { return p.datagrams(size) })
}

// oneByOne posts a chain that ends with a signal, and polls for it.
func (p *pair) oneByOne(wrs ...fabric.WR) func() {
	var buf [16]fabric.Completion
	return func() {
		p.chain(wrs)
		for spins := 0; ; spins++ {
			if p.good(buf[:p.b.sendCQ().Poll(buf[:])]) > 0 {
				return
			}
			if spins > 100 {
				runtime.Gosched()
			}
		}
	}
}

// message sends one message and polls for it at both ends.
func (p *pair) message(size int) func() {
	var buf [16]fabric.Completion
	wrs, recv := []fabric.WR{p.b.sendFrom(0, size)}, []fabric.RecvWR{p.a.recvAt(1024, size)}
	return func() {
		p.a.postRecvChain(recv)
		p.chain(wrs)
		p.drain(buf[:], 2)
	}
}

// datagrams sends one datagram and polls for it; a dropped one is not waited
// for.
func (p *pair) datagrams(size int) func() {
	var buf [16]fabric.Completion
	wrs, recv := []fabric.WR{p.b.sendFrom(0, size)}, []fabric.RecvWR{p.a.recvAt(1024, size)}
	outstanding := 0
	return func() {
		if outstanding == 0 {
			p.a.postRecvChain(recv)
			outstanding = 1
		}
		p.chain(wrs)
		p.drainSends(buf[:], &outstanding)
	}
}
