package rfp_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/rpc/wire"
	"github.com/remora-kv/remora/test/scale"
)

// longPattern is a message that shows which bytes of it are where.
func longPattern(n, salt int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i>>16*31 + i>>8*7 + i + salt)
	}
	return b
}

// Messages longer than a frame, than a piece and than the area for pieces come
// whole, in both directions, with and without an area, alone and several on their
// way.
func TestLongMessages(t *testing.T) {
	const area = 64 << 10
	sizes := []int{0, 1, 2040, 2050, 4096, area/4 - 1, area / 4, area/4 + 1, area - 7, area, area + 1, 3*area + 5, 500_000}
	eachFabric(t, func(t *testing.T, r *rig) {
		r.Mux.Handle(procSpin, func(c *rpc.Call, out []byte) ([]byte, error) {
			c.After = c.Request[len(c.Request)/3:]
			return c.Request[:len(c.Request)/3], nil
		})
		r.serve(rfp.ServerConfig{Bulk: area})
		for name, cfg := range map[string]rfp.ConnConfig{
			"area":    {Bulk: area},
			"reply":   {Bulk: area, Params: rfp.Params{Mode: rfp.Reply, Pinned: true}},
			"small":   {Bulk: 8 << 10, Window: 2},
			"alone":   {Bulk: area, Window: 1},
			"no area": {Bulk: -1},
		} {
			t.Run(name, func(t *testing.T) {
				c := r.dial(cfg)
				for i, n := range sizes {
					want := longPattern(n, i)
					for _, proc := range []uint16{procEcho, procSpin} {
						if got, err := call(t, c, proc, want); err != nil || !bytes.Equal(got, want) {
							t.Fatalf("%d bytes by procedure %d: %d came, %v", n, proc, len(got), err)
						}
					}
				}
				checkLongWindow(t, c, sizes)
			})
		}
	})
}

// checkLongWindow has several long messages on their way, taken late.
func checkLongWindow(t *testing.T, c *rfp.Conn, sizes []int) {
	t.Helper()
	for round := range 3 {
		var want [][]byte
		for i, n := range sizes {
			msg := longPattern(n, i*round)
			if c.Send(uint8(procEcho), request(procEcho, msg)) != nil {
				break // the window is full
			}
			want = append(want, msg)
		}
		for i, msg := range want {
			if !c.Wait(0) {
				t.Fatal(c.Err())
			}
			got, err, ok := c.Next()
			if !ok || err != nil || !bytes.Equal(got, msg) {
				t.Fatalf("message %d of %d, %d bytes: %d came, %v", i, len(want), len(msg), len(got), err)
			}
		}
	}
}

// Two clients, of which one does not take its long result: the other goes on, and
// the first gets it whole when it looks.
func TestLongResultNotTaken(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.serve(rfp.ServerConfig{Bulk: 64 << 10})
		lazy, busy := r.dial(rfp.ConnConfig{}), r.dial(rfp.ConnConfig{})
		long := longPattern(400_000, 1)
		for round := range 3 {
			if err := lazy.Send(uint8(procDouble), request(procDouble, long)); err != nil {
				t.Fatal(err)
			}
			for i := range 50 {
				want := fmt.Sprint("busy ", i)
				if got, err := call(t, busy, procEcho, []byte(want)); err != nil || string(got) != want {
					t.Fatalf("%q, %v", got, err)
				}
			}
			if !lazy.Wait(0) {
				t.Fatal(lazy.Err())
			}
			got, err, ok := lazy.Next()
			if !ok || err != nil || !bytes.Equal(got[:len(long)], long) || !bytes.Equal(got[len(long):], long) {
				t.Fatalf("round %d: %d bytes came, %v", round, len(got), err)
			}
		}
		if st := s.Stats(); st.Cut+st.Lost != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// A message that is gathered from two parts comes as one, wherever they meet, in a
// frame, in parts and in pieces; and both may be used again at once.
func TestGatheredMessages(t *testing.T) {
	const area = 16 << 10
	eachFabric(t, func(t *testing.T, r *rig) {
		r.serve(rfp.ServerConfig{Bulk: area})
		for name, cfg := range map[string]rfp.ConnConfig{
			"area": {Bulk: area}, "alone": {Bulk: area, Window: 1}, "no area": {Bulk: -1},
		} {
			t.Run(name, func(t *testing.T) {
				c := r.dial(cfg)
				for _, n := range []int{2, 100, 5000, area / 4, area + 1, 100_000} {
					for _, at := range []int{0, 1, 2, n / 2, n - 1, n} {
						checkGathered(t, c, request(procEcho, longPattern(n-2, at)), at)
					}
				}
			})
		}
	})
}

// checkGathered sends msg in two parts and has it echoed.
func checkGathered(t *testing.T, c *rfp.Conn, msg []byte, at int) {
	t.Helper()
	head, body := bytes.Clone(msg[:at]), bytes.Clone(msg[at:])
	if err := c.SendGather(uint8(procEcho), head, body); err != nil {
		t.Fatal(err)
	}
	clear(head)
	clear(body)
	if !c.Wait(0) {
		t.Fatal(c.Err())
	}
	if got, err, ok := c.Next(); !ok || err != nil || !bytes.Equal(got, msg[2:]) {
		t.Fatalf("%d bytes, %d of them before: %d came, %v", len(msg), at, len(got), err)
	}
}

// A client writes pieces while the server has the frame before, though its window be
// of one frame, and names them all in the next.
func TestPiecesAreWrittenAhead(t *testing.T) {
	const area, size = 2048, 2000
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.rawServer()
		w := s.goodWelcome()
		w.Window, w.Bulk, w.ResultBulk = 1, area, area
		s.greet(w.Append(nil))
		r.Addr = s.addr
		c := r.dial(rfp.ConnConfig{Window: 1, Bulk: area})
		bulkAt := rawSlots + roundUp64(wire.RequestBytes(rawPayload))
		at := s.requests.Remote().At(bulkAt)
		areas := append(areaEntry(wire.Area{Place: wire.Place{Addr: at.Addr, Key: at.Key}}), s.resultArea()...)
		s.frame(1, append(areas, entries([]byte("short"))...), true)
		if got, err := call(t, c, procEcho, nil); err != nil || string(got) != "short" {
			t.Fatalf("%q, %v", got, err)
		}
		await(t, "the areas", func() bool { c.Poll(); return c.HasAreas() })
		msg := longPattern(size, 1)
		if err := c.Send(1, msg); err != nil {
			t.Fatal(err)
		}
		await(t, "the message in the area, of which a frame has named a part", func() bool {
			c.Poll()
			return bytes.Equal(s.peek(bulkAt, size), msg)
		})
		var got []wire.Piece
		for n := uint64(2); n <= 3; n++ {
			await(t, fmt.Sprint("frame ", n), func() bool { c.Poll(); return s.requested(n) })
			pieces := s.pieces(t, area)
			if n == 2 && len(pieces) != 1 {
				t.Errorf("the first frame names %d pieces", len(pieces))
			}
			got = append(got, pieces...)
			s.frame(n, nil, n == 2)
		}
		sum := uint32(0)
		for i, p := range got {
			if sum += p.Size; p.At%64 != 0 || p.Size > area/4 || p.Total != size || p.More != (i < len(got)-1) {
				t.Errorf("piece %d of %d: %+v", i, len(got), p)
			}
		}
		if sum != size || len(got) != 5 || got[4].Size > area*3/16 {
			t.Errorf("pieces %+v", got)
		}
	})
}

// Whoever gets results that the area for requests could hold, some of them at a time, has little memory
// for them; a client that gets longer ones has more where that is shared.
func TestShortResultsTouchLittle(t *testing.T) {
	const area, inFlight = 256 << 10, 3
	eachFabric(t, func(t *testing.T, r *rig) {
		long := pattern(1<<20, 5) // as that of blow
		handleBlow(r)
		s := r.serve(rfp.ServerConfig{})
		c := r.dial(rfp.ConnConfig{Window: inFlight})
		warm(t, c)
		had := s.Stats().Memory
		get := func(n, count int) int {
			for sent, taken := 0, 0; taken < count; taken++ {
				for ; sent < count && sent < taken+inFlight; sent++ {
					if err := c.Send(uint8(procBlow), blow(n)); err != nil {
						t.Fatal(err)
					}
				}
				if !c.Wait(0) {
					t.Fatal(c.Err())
				}
				if got, err, ok := c.Next(); !ok || err != nil || !bytes.Equal(got, long[:n]) {
					t.Fatalf("result %d of %d bytes: %d came, %v", taken, n, len(got), err)
				}
			}
			return s.Stats().Memory - had
		}
		if grown := get(40<<10, scale.Times(100)); grown > 64<<10 {
			t.Errorf("results of 40 KiB take %d bytes", grown)
		}
		switch grown := get(1<<20, 8); {
		case r.Fabric == provider.Shm && grown <= area:
			t.Errorf("results of 1 MiB take %d bytes more than the usual", grown)
		case r.Fabric != provider.Shm && grown > 64<<10:
			t.Errorf("results of 1 MiB take %d bytes more than the usual", grown)
		}
	})
}

// A long request on shared memory goes from where it is into the memory of the server: no memory is made
// for it at the client.
func TestLongRequestsArePlaced(t *testing.T) {
	r := newRig(t, provider.Shm)
	r.serve(rfp.ServerConfig{})
	dev := r.NewDevice()
	c := r.dial(rfp.ConnConfig{Device: dev})
	warm(t, c)
	long := longPattern(1<<20-16, 5)
	for _, msg := range [][]byte{request(procEcho, []byte("short")), request(procEcho, long), request(procEcho, long)} {
		if err := c.Send(1, msg); err != nil {
			t.Fatal(err)
		}
		if !c.Wait(0) {
			t.Fatal(c.Err())
		}
		if got, err, ok := c.Next(); !ok || err != nil || !bytes.Equal(got, msg[rpc.ProcSize:]) {
			t.Fatalf("%d bytes: %d came, %v", len(msg), len(got), err)
		}
	}
	if n := memoryFor(dev, "rfp pieces"); n != 0 {
		t.Errorf("%d bytes for pieces", n)
	}
}

// memoryFor is how much memory a device has for the purposes that begin alike.
func memoryFor(dev fabric.Device, prefix string) (n int64) {
	for _, u := range dev.Memory() {
		if strings.HasPrefix(u.Purpose, prefix) {
			n += u.Bytes
		}
	}
	return n
}

// Results that are longer than the area follow each other without a pause, and every
// piece is pushed: a core that serves long results takes the completions of its pushes
// meanwhile, or the send queue would be full and the client left to find the rest out.
func TestLongResultsInARowArePushed(t *testing.T) {
	const size, inFlight = 1 << 20, 4
	r := newRig(t, provider.Loop) // where a WRITE is done when it is posted
	long := longPattern(size, 3)
	r.Mux.Handle(procSpin, func(*rpc.Call, []byte) ([]byte, error) { return long, nil })
	s := r.serve(rfp.ServerConfig{})
	c := r.dial(rfp.ConnConfig{Window: inFlight, Policy: fabric.Busy})
	sent := 0
	for taken := range scale.Times(128) {
		for ; sent < taken+inFlight; sent++ {
			if err := c.Send(uint8(procSpin), request(procSpin, nil)); err != nil {
				t.Fatal(err)
			}
		}
		if !c.Wait(0) {
			t.Fatal(c.Err())
		}
		if got, err, ok := c.Next(); !ok || err != nil || !bytes.Equal(got, long) {
			t.Fatalf("result %d: %d bytes came, %v", taken, len(got), err)
		}
	}
	if st := s.Stats(); st.Unpushed != 0 || st.Pushes == 0 {
		t.Errorf("%d frames pushed, %d for which there was no place", st.Pushes, st.Unpushed)
	}
}

// A result is long enough to be pushed whatever part of it the handler appended.
func TestLongResultsArePushedWhole(t *testing.T) {
	long := longPattern(20_000, 3)
	for _, bulk := range []int{0, -1} {
		eachFabric(t, func(t *testing.T, r *rig) {
			r.Mux.Handle(procSpin, func(c *rpc.Call, out []byte) ([]byte, error) {
				c.After = long[100:]
				return append(out, long[:100]...), nil
			})
			s := r.serve(rfp.ServerConfig{Bulk: bulk})
			c := r.dial(rfp.ConnConfig{Params: rfp.Params{Pinned: true, Mode: rfp.Fetch}})
			for n := range 3 {
				if got, err := call(t, c, procSpin, nil); err != nil || !bytes.Equal(got, long) {
					t.Fatalf("%d bytes came, %v", len(got), err)
				}
				if st := s.Stats(); st.Pushes+st.Unpushed < uint64(n+1) {
					t.Errorf("call %d: %d frames were pushed", n, st.Pushes)
				}
			}
		})
	}
}
