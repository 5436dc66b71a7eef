package tcp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/test/scale"
)

// TestReadWrite moves data of sizes around the limits of a frame, to and from
// a program that does nothing (G18).
func TestReadWrite(t *testing.T) {
	a, b := newPair(t, fabric.RC)
	for _, n := range []int{0, 1, 7, 8, 9, 64, 4096, maxFragment - 1, maxFragment, maxFragment + 1, 300_001} {
		for _, off := range []int{0, 3, 8} {
			src, dst := b.mem.Bytes()[:n], b.mem.Bytes()[500_000:500_000+n]
			for i := range src {
				src[i] = byte(i*7 + n + off)
				dst[i] = 0
			}
			b.post(
				fabric.WR{ID: 1, Op: fabric.OpWrite, Local: b.mem.Seg(0, n), Remote: a.mem.Remote().At(off)},
				fabric.WR{ID: 2, Op: fabric.OpRead, Local: b.mem.Seg(500_000, n), Remote: a.mem.Remote().At(off), Flags: fabric.FlagSignaled},
			)
			if c := b.ok(1)[0]; c.ID != 2 || c.Bytes != uint32(n) {
				t.Fatalf("got %+v", c)
			}
			if !bytes.Equal(src, dst) {
				t.Fatalf("%d bytes at %d: what was read is not what was written", n, off)
			}
		}
	}
	want := fabric.Counters{}
	want.In[fabric.OpRead], want.In[fabric.OpWrite] = 33, 33
	if got := a.qp.Counters(); got.In != want.In || got.InBytes != b.qp.Counters().OutBytes {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}

// TestBothWays floods a connection from both ends with everything that needs
// room at the other: neither side may wait forever (I2, I3).
func TestBothWays(t *testing.T) {
	a, b := newPair(t, fabric.RC)
	// Copies are slow in race builds, where each word is an atomic.
	rounds, size := scale.Times(40), 200_000
	var wg sync.WaitGroup
	flood := func(e, peer *end) {
		defer wg.Done()
		remote := peer.mem.Remote()
		for i := range 8 {
			e.recv(uint64(i), 900_000+i*4096, 4096)
		}
		wrs := []fabric.WR{
			{Op: fabric.OpRead, Local: e.mem.Seg(0, size), Remote: remote.At(300_000)},
			{Op: fabric.OpWrite, Local: e.mem.Seg(300_000, size), Remote: remote.At(600_000)},
			{Op: fabric.OpSend, Local: e.mem.Seg(300_000, 4096)},
			{Op: fabric.OpRead, Local: e.mem.Seg(0, size), Remote: remote.At(300_000)},
			{Op: fabric.OpWriteImm, Local: e.mem.Seg(300_000, size), Remote: remote.At(600_000), Imm: 7, Flags: fabric.FlagSignaled},
		}
		sent, received, posted := 0, 0, 0
		await(e.tb, "the flood to pass", func() bool {
			for posted < rounds && posted-sent < 4 {
				e.post(wrs...)
				posted++
			}
			e.poll()
			for i := range e.done {
				c := &e.done[i]
				if err := c.Err(); err != nil {
					t.Error(err)
					return true
				}
				if c.Op != fabric.OpRecv {
					sent++
					continue
				}
				received++
				e.recv(c.ID, 900_000+int(c.ID)*4096, 4096)
			}
			e.done = e.done[:0]
			return sent == rounds && received == 2*rounds
		})
	}
	wg.Add(2)
	go flood(a, b)
	go flood(b, a)
	wg.Wait()
}

// TestHundredsOfConnections serves 200 connections with as many goroutines as
// one would take.
func TestHundredsOfConnections(t *testing.T) {
	const conns = 200
	a := newEnd(t, newDevice(t, Config{}), fabric.RC, 8*conns, 1<<16)
	b := newEnd(t, newDevice(t, Config{}), fabric.RC, 8*conns, 1<<16)
	a.cfg.SendDepth, a.cfg.RecvDepth, b.cfg.SendDepth, b.cfg.RecvDepth = 4, 4, 4, 4
	l, err := a.dev.Listen(fabric.Addr{Fabric: "tcp", Name: "127.0.0.1:0"}, fabric.ListenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	var as, bs []fabric.QP
	for range conns {
		connectAt(t, l, a, b)
		as, bs = append(as, a.qp), append(bs, b.qp)
	}
	_ = l.Close()
	goroutines := countGoroutines()
	for i, qp := range as {
		_, err := qp.PostRecv([]fabric.RecvWR{{ID: uint64(i), Local: a.mem.Seg(i*64, 64)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, qp := range bs {
		at := a.mem.Remote().At(32768 + i*8)
		binary.NativeEndian.PutUint64(b.mem.Bytes()[i*8:], uint64(i+1))
		_, err := qp.Post([]fabric.WR{
			{Op: fabric.OpWrite, Local: b.mem.Seg(i*8, 8), Remote: at},
			{Op: fabric.OpFetchAdd, Local: b.mem.Seg(8192+i*8, 8), Remote: at, Operand: 1000},
			{Op: fabric.OpSend, Local: b.mem.Seg(i*8, 8), Flags: fabric.FlagSignaled},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := countGoroutines(); n > goroutines {
		t.Errorf("%d goroutines with requests under way, %d without", n, goroutines)
	}
	seen := map[uint64]bool{}
	for _, c := range a.ok(conns, b) {
		seen[c.ID] = true
		if v := binary.NativeEndian.Uint64(a.mem.Bytes()[c.ID*64:]); v != c.ID+1 {
			t.Errorf("connection %d received %d", c.ID, v)
		}
	}
	b.ok(conns)
	for i := range conns {
		if v := fence.Observe64(fence.Word(a.mem.Bytes(), 32768+i*8)); v != uint64(i)+1001 {
			t.Errorf("word %d is %d", i, v)
		}
	}
	if len(seen) != conns {
		t.Errorf("%d connections received something", len(seen))
	}
	for i := range as {
		_, _ = bs[i].Close(), as[i].Close()
	}
	a.qp, b.qp = nil, nil
	a.close()
	b.close()
}

// TestRegionCloseUnderFire closes regions that a peer reads and writes: after
// Close, the memory is nobody's (in race builds the detector watches).
func TestRegionCloseUnderFire(t *testing.T) {
	const size = 200_000
	for i := range scale.Times(20) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			a, b := newPair(t, fabric.RC)
			r, err := a.dom.Alloc("victim", size, everything)
			if err != nil {
				t.Fatal(err)
			}
			var over atomic.Bool
			go func() {
				await(t, "the peer to be at it", func() bool { return a.qp.Counters().In[fabric.OpWrite] > uint64(i) })
				if err := r.Close(); err != nil {
					t.Error(err)
				}
				over.Store(true)
			}()
			wrs := []fabric.WR{
				{Op: fabric.OpWrite, Local: b.mem.Seg(0, size), Remote: r.Remote(), Flags: fabric.FlagSignaled},
				{Op: fabric.OpRead, Local: b.mem.Seg(0, size), Remote: r.Remote(), Flags: fabric.FlagSignaled},
			}
			for b.qp.State() == fabric.StateReady {
				b.post(wrs...)
				for _, c := range b.take(2) {
					switch c.Status {
					case fabric.StatusOK, fabric.StatusRemoteAccess, fabric.StatusFlushed:
					default:
						t.Fatal(c.Err())
					}
				}
			}
			await(t, "Close", over.Load)
		})
	}
}

// TestAddressOrder watches two words of WRITEs that go in several frames: when the later one is visible, so is the
// earlier one (G2). The words are generations and never wrap, however long the watcher is kept from
// looking.
func TestAddressOrder(t *testing.T) {
	a, b := newPair(t, fabric.RC)
	const words = 2 * maxFragment / 8
	var done atomic.Bool
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		rng := rand.New(rand.NewPCG(1, 2))
		mem := a.mem.Bytes()[8:]
		for !done.Load() {
			j := rng.IntN(words)
			i := rng.IntN(j + 1)
			later := fence.Observe64(fence.Word(mem, 8*j))
			if earlier := fence.Observe64(fence.Word(mem, 8*i)); earlier < later {
				t.Errorf("word %d was of generation %d when word %d already was of %d", i, earlier, j, later)
				return
			}
		}
	}()
	for g := range scale.Times(500) {
		src := g % 2 * 300_000
		for i := range words {
			binary.NativeEndian.PutUint64(b.mem.Bytes()[src+8*i:], uint64(g))
		}
		b.post(fabric.WR{
			Op: fabric.OpWrite, Local: b.mem.Seg(src, 8*words), Remote: a.mem.Remote().At(8),
			Flags: fabric.FlagSignaled,
		})
		b.ok(1)
	}
	done.Store(true)
	<-watched
}
