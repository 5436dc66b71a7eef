package crc32c_test

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/remora-kv/remora/internal/crc32c"
)

var table = crc32.MakeTable(crc32.Castagnoli)

func random(n int) []byte {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// Every length, from every alignment, and whatever came before.
func TestSameAsTheStandardLibrary(t *testing.T) {
	b := random(3000 + 64)
	for n := range 3000 {
		for _, off := range []int{0, 1, 7, 33} {
			p := b[off : off+n]
			if got, want := crc32c.Checksum(p), crc32.Checksum(p, table); got != want {
				t.Fatalf("%d bytes from %d: %08x, want %08x", n, off, got, want)
			}
			sum := uint32(n) * 0x9E3779B9
			if got, want := crc32c.Update(sum, p), crc32.Update(sum, table, p); got != want {
				t.Fatalf("%d bytes from %d behind %08x: %08x, want %08x", n, off, sum, got, want)
			}
		}
	}
	b = random(1 << 20)
	if got, want := crc32c.Checksum(b), crc32.Checksum(b, table); got != want {
		t.Fatalf("a megabyte: %08x, want %08x", got, want)
	}
}

// The examples of RFC 3720, B.4.
func TestKnownSums(t *testing.T) {
	zeros, ones, up, down := make([]byte, 32), make([]byte, 32), make([]byte, 32), make([]byte, 32)
	for i := range up {
		ones[i], up[i], down[i] = 0xFF, byte(i), byte(31-i)
	}
	for want, p := range map[uint32][]byte{0x8A9136AA: zeros, 0x62A8AB43: ones, 0x46DD794E: up, 0x113FDB5C: down} {
		if got := crc32c.Checksum(p); got != want {
			t.Errorf("%x: %08x, want %08x", p, got, want)
		}
	}
}

func TestAllocatesNothing(t *testing.T) {
	b := random(4096)
	if n := testing.AllocsPerRun(100, func() { crc32c.Checksum(b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzUpdate(f *testing.F) {
	f.Add(uint32(0), random(255))
	f.Add(uint32(1), random(512))
	f.Add(^uint32(0), random(1025))
	f.Fuzz(func(t *testing.T, sum uint32, p []byte) {
		want := crc32.Update(sum, table, p)
		if got := crc32c.Update(sum, p); got != want {
			t.Fatalf("%d bytes behind %08x: %08x, want %08x", len(p), sum, got, want)
		}
		if half := len(p) / 2; crc32c.Update(crc32c.Update(sum, p[:half]), p[half:]) != want {
			t.Fatalf("%d bytes behind %08x, in two halves: not %08x", len(p), sum, want)
		}
	})
}

func BenchmarkChecksum(b *testing.B) {
	for _, n := range []int{64, 256, 512, 1024, 4096, 1 << 20} {
		p := random(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				crc32c.Checksum(p)
			}
		})
	}
}
