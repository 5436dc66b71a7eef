package rfp_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/crc32c"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/rpc/wire"
	"github.com/remora-kv/remora/test/rpctest"
)

// Where there is no order (fabric.Limits.InOrder), a READ can bring a new first word with lines of
// before, and lines of a WRITE can be there before others.

func disorder(t *testing.T) *rig { return &rig{Rig: rpctest.Disorder(t)} }

// A client takes a result when all lines of it are there, whichever is missing: of a frame that
// one READ brings, of one whose rest takes another, and of one that is pushed.
func TestResultWithoutALine(t *testing.T) {
	for _, mode := range []rfp.Mode{rfp.Fetch, rfp.Reply} {
		for _, size := range []int{100, 230, 450} {
			t.Run(fmt.Sprint(mode, size), func(t *testing.T) {
				r := disorder(t)
				s := r.rawServer()
				r.Addr = s.addr
				c := r.dial(rfp.ConnConfig{Params: rfp.Params{Pinned: true, Mode: mode}})
				qp := <-s.accepted
				defer qp.Close()
				for n := uint64(1); n <= 8; n++ {
					if err := c.Send(1, request(procEcho, []byte("x"))); err != nil {
						t.Fatal(err)
					}
					result := pattern(size, int(n))
					frame := s.tailed(n, entries(result), true)
					missing := 64 * (int(n) % ((len(frame) + 63) / 64))
					missing, end := max(missing, wire.ResultHeader), min(missing+64, len(frame))
					at := int((n-1)%rawResults) * rawStride
					old := s.answers.Bytes()[at+missing : at+end]
					torn := bytes.Clone(frame)
					copy(torn[missing:], old)
					s.put(at+8, torn[8:])
					s.put(at, torn[:8])
					misses := c.Stats().Misses
					await(t, "looks in vain", func() bool {
						if c.Poll() {
							got, err, _ := c.Next()
							t.Fatalf("frame %d: %d bytes, %v, though bytes %d to %d are missing", n, len(got), err, missing, end)
						}
						return c.Stats().Misses > misses+3
					})
					s.put(at+missing, frame[missing:end])
					if !c.Wait(patience) {
						t.Fatal(c.Err())
					}
					if got, err, ok := c.Next(); !ok || err != nil || !bytes.Equal(got, result) {
						t.Fatalf("frame %d: %d bytes, %v", n, len(got), err)
					}
				}
			})
		}
	}
}

// A server serves a request when all lines of it are there, and a piece.
func TestRequestWithoutALine(t *testing.T) {
	r := disorder(t)
	s := r.serve(rfp.ServerConfig{})
	c := r.raw(withArea)
	for n := uint64(1); n <= 8; n++ {
		arg := pattern(300, int(n))
		frame := c.sealed(n, entries(request(procEcho, arg)), wire.Word1{Entries: 1, Taken: uint32(n - 1)})
		missing := 64 * (int(n) % (len(frame) / 64))
		missing, end := max(missing, 8), min(missing+64, len(frame))
		at := c.slotOf(n)
		c.write(at, frame[:missing])
		c.write(at+end, frame[end:])
		c.stillNoAnswer(s, n)
		c.write(at+missing, frame[missing:end])
		c.wantEcho(n, arg)
	}
	c.number = 9
	place := c.warm()
	area := fabric.Remote{Addr: place.Addr, Key: place.Key}
	n := c.number
	msg := request(procEcho, pattern(1500, 9))
	c.writeTo(area, msg[:1000])
	c.writeTo(area.At(1064), msg[1064:])
	p := wire.Piece{Size: uint32(len(msg)), Total: uint32(len(msg)), Sum: crc32c.Checksum(msg)}
	c.send(pieceEntry(p), wire.Word1{Entries: 1, Taken: uint32(n - 1)})
	c.stillNoAnswer(s, n)
	c.writeTo(area.At(1000), msg[1000:1064])
	c.wantEcho(n, msg[2:])
}

// stillNoAnswer has the core look often enough, and checks that there is no answer n.
func (c *rawClient) stillNoAnswer(s *rfp.Server, n uint64) {
	c.t.Helper()
	for range 100 {
		s.Stats() // the core answers between two sweeps
		c.wake()
	}
	if w := wire.Word0(binary.LittleEndian.Uint64(c.answer(n))); w.Is(n) {
		c.t.Fatalf("request %d was answered, though a line is missing", n)
	}
}

func (c *rawClient) wantEcho(n uint64, arg []byte) {
	c.t.Helper()
	if got := c.awaitAnswer(n); !bytes.Equal(got, entries(arg)) {
		c.t.Fatalf("answer %d: %x", n, got)
	}
}
