package direct

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/remora-kv/remora/fabric"
)

// TestScribbledSegment writes impossible counters and entries into the segment,
// as a hostile peer could, and wants the queue pair to break with ErrProtocol.
func TestScribbledSegment(t *testing.T) {
	// The ring from the dialer to the acceptor begins the segment.
	const tail, ring = 0, ringHeaderSize + 4*16
	entryAt := func(seg []byte, e entry) { e.encode(seg[ring:]) }
	put := binary.LittleEndian.PutUint64
	for name, scribble := range map[string]func(seg []byte){
		"tail beyond ring":   func(seg []byte) { put(seg[tail:], ringSize+entrySize) },
		"tail unaligned":     func(seg []byte) { put(seg[tail:], 7) },
		"tail behind":        func(seg []byte) { put(seg[tail:], ^uint64(0)-15) },
		"unknown kind":       func(seg []byte) { put(seg[tail:], 16) },
		"entry beyond tail":  func(seg []byte) { entryAt(seg, entry{kind: kindSend, frag: 64, total: 64}); put(seg[tail:], 16) },
		"entry beyond ring":  func(seg []byte) { entryAt(seg, entry{kind: kindSend, frag: 1 << 31}); put(seg[tail:], 16) },
		"part without start": func(seg []byte) { entryAt(seg, entry{kind: kindMore, frag: 0, total: 0}); put(seg[tail:], 16) },
		"part longer than message": func(seg []byte) {
			entryAt(seg, entry{kind: kindSend, frag: 16, total: 8})
			put(seg[tail:], 32)
		},
		"empty part of more": func(seg []byte) { entryAt(seg, entry{kind: kindSend, frag: 0, total: 8}); put(seg[tail:], 16) },
		"immediate with payload": func(seg []byte) {
			entryAt(seg, entry{kind: kindImm, frag: 16, total: 8})
			put(seg[tail:], 32)
		},
		"datagram on a connection": func(seg []byte) {
			entryAt(seg, entry{kind: kindGram, frag: 16, total: 16})
			put(seg[tail:], 32)
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, b, seg := newPair(t, fabric.QPConfig{RecvDepth: 16})
			buf := b.alloc(t, 64, 0)
			if _, err := b.qp.PostRecv([]fabric.RecvWR{{Local: buf.Seg(0, 8)}, {Local: buf.Seg(8, 8)}}); err != nil {
				t.Fatal(err)
			}
			scribble(seg)
			got := b.poll()
			if !errors.Is(b.qp.Err(), fabric.ErrProtocol) {
				t.Errorf("the queue pair says %v", b.qp.Err())
			}
			if len(got) != 2 || got[0].Status != fabric.StatusFlushed || got[1].Status != fabric.StatusFlushed {
				t.Errorf("the receives ended as %v", got)
			}
		})
	}
}

// TestLyingConsumer gives the sender counters that cannot be.
func TestLyingConsumer(t *testing.T) {
	for name, scribble := range map[string]func(h *ringHeader){
		"credits beyond depth": func(h *ringHeader) { h.posted.Store(1 << 40) },
		"credits taken back":   func(h *ringHeader) { h.posted.Store(^uint64(0)) },
		"head ahead of tail":   func(h *ringHeader) { h.posted.Store(16); h.head.Store(1 << 40) },
	} {
		t.Run(name, func(t *testing.T) {
			a, _, _ := newPair(t, fabric.QPConfig{RecvDepth: 16, SendDepth: 64})
			buf := a.alloc(t, 8192, 0)
			lens := a.qp.out.lens
			for i := range lens {
				lens[i].Store(1 << 20)
			}
			scribble(a.qp.out.h)
			// Enough to make the sender look at the head.
			for range 16 {
				if _, err := a.qp.Post([]fabric.WR{{Op: fabric.OpSend, Local: buf.Seg(0, 8192)}}); err != nil {
					t.Fatal(err)
				}
			}
			a.poll()
			if err := a.qp.Err(); !errors.Is(err, fabric.ErrProtocol) {
				t.Errorf("the queue pair says %v", err)
			}
		})
	}
}

// FuzzSegment lets the fuzzer be the peer: it scribbles into the shared
// segment at will between the moves of the owner, which must never panic and
// must end every request and receive that it posted.
func FuzzSegment(f *testing.F) {
	f.Add([]byte{0, 0, 16, 1, 2, 3})
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 16, 2, 2, 3, 3, 0, 0, 0})
	f.Fuzz(func(t *testing.T, program []byte) {
		_, b, seg := newPair(t, fabric.QPConfig{RecvDepth: 8, SendDepth: 8})
		r := &fuzzRun{b: b, seg: seg, in: program, buf: b.alloc(t, 4096, 0)}
		for len(r.in) > 0 {
			r.step(t)
		}
		_ = b.qp.Disconnect()
		r.poll(t)
		r.poll(t)
		if r.sends > 0 || r.recvs != 0 {
			t.Fatalf("after the end %d requests and %d receives have no completion", r.sends, r.recvs)
		}
	})
}

type fuzzRun struct {
	b            *end
	seg, in      []byte
	buf          *fabric.Region
	sends, recvs int
}

func (r *fuzzRun) byte() byte {
	if len(r.in) == 0 {
		return 0
	}
	c := r.in[0]
	r.in = r.in[1:]
	return c
}

// step is one move of the peer or of the owner.
func (r *fuzzRun) step(t *testing.T) {
	switch r.byte() % 6 {
	case 0: // one byte anywhere near the beginning of a ring
		off := int(r.byte()) | int(r.byte())<<8
		r.seg[(off%2)*ringBytes(8)+off/2%1024] = r.byte()
	case 1: // an entry with a matching tail
		e := entry{kind: r.byte() % 8, frag: uint32(r.byte()) | uint32(r.byte())<<8, total: uint32(r.byte()) | uint32(r.byte())<<8}
		h := r.b.qp.in.h
		at := int(h.tail.Load() & (ringSize - 1) &^ 15)
		e.encode(r.b.qp.in.ring.data[at:])
		h.tail.Add(entrySize + padded(int(e.frag)))
	case 2:
		n, err := r.b.qp.PostRecv([]fabric.RecvWR{{Local: r.buf.Seg(0, int(r.byte())*4)}})
		if err != nil && !errors.Is(err, fabric.ErrQueueFull) {
			t.Fatal(err)
		}
		r.recvs += n
	case 3:
		r.poll(t)
	case 4:
		n, err := r.b.qp.Post([]fabric.WR{{Op: fabric.OpSend, Flags: fabric.FlagSignaled, Local: r.buf.Seg(0, int(r.byte())*4)}})
		if err != nil && !errors.Is(err, fabric.ErrQueueFull) {
			t.Fatal(err)
		}
		r.sends += n
	case 5:
		n, err := r.b.qp.Post([]fabric.WR{{
			Op: fabric.OpRead, Flags: fabric.FlagSignaled, Local: r.buf.Seg(0, 8),
			Remote: fabric.Remote{Addr: uint64(r.byte()) << 36, Key: uint32(r.byte()) << 16},
		}})
		if err != nil && !errors.Is(err, fabric.ErrQueueFull) {
			t.Fatal(err)
		}
		r.sends += n
	}
}

func (r *fuzzRun) poll(t *testing.T) {
	for _, c := range r.b.poll() {
		if c.Op == fabric.OpRecv {
			r.recvs--
		} else {
			r.sends--
		}
		if c.Op == fabric.OpRecv && c.Status == fabric.StatusOK && !c.HasImm && int(c.Bytes) > r.buf.Len() {
			t.Fatalf("received %d bytes into less", c.Bytes)
		}
	}
	if r.sends < 0 || r.recvs < 0 {
		t.Fatalf("more completions than requests: %d %d", r.sends, r.recvs)
	}
}

// TestKeysDoNotComeBack closes and makes regions: no key of a closed one is
// given out again for as long as the generations allow.
func TestKeysDoNotComeBack(t *testing.T) {
	a, _, _ := newPair(t, fabric.QPConfig{})
	const rounds = restingIndexes * maxGeneration
	seen := make(map[uint32]int, rounds)
	for i := range rounds {
		r := a.alloc(t, 1, fabric.RemoteRead)
		if before, again := seen[r.Remote().Key]; again {
			t.Fatalf("region %d has the key of region %d", i, before)
		}
		seen[r.Remote().Key] = i
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
