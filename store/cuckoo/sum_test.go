package cuckoo

import (
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"math/rand/v2"
	"testing"
)

// TestSum compares the checksum with that of hash/crc64.
func TestSum(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	table := crc64.MakeTable(crc64.ECMA)
	b := make([]byte, 300)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	for n := range b {
		cut := random.IntN(n + 1)
		if got, want := ^addBytes(addBytes(itemSum, b[:cut]), b[cut:n]), crc64.Checksum(b[:n], table); cut%8 == 0 && got != want {
			t.Errorf("%d bytes, cut at %d: %#x, want %#x", n, cut, got, want)
		}
		if got, want := ^addBytes(itemSum, b[:n]), crc64.Checksum(b[:n], table); got != want {
			t.Errorf("%d bytes: %#x, want %#x", n, got, want)
		}
	}
	if got, want := ^addWord(itemSum, binary.LittleEndian.Uint64(b)), crc64.Checksum(b[:8], table); got != want {
		t.Errorf("a word: %#x, want %#x", got, want)
	}
}

func BenchmarkSum(b *testing.B) {
	mem := make([]byte, 4096)
	for _, n := range []int{24, 48, 1024, 4096} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				addBytes(itemSum, mem[:n])
			}
		})
	}
}
