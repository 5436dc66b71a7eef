package store_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/remora-kv/remora/store"
)

func TestSeedChangesHashes(t *testing.T) {
	seen := map[uint64]store.Seed{}
	for seed := range store.Seed(1000) {
		h := seed.Hash([]byte("key"))
		if other, ok := seen[h]; ok {
			t.Fatalf("seeds %d and %d hash a key to %#x", seed, other, h)
		}
		seen[h] = seed
	}
	// Keys that collide under one seed in some bits do not under another.
	collide := 0
	for i := range uint64(200_000) {
		a, b := binary.AppendUvarint(nil, i), binary.AppendUvarint(nil, i+1_000_000)
		if low(store.Seed(1).Hash(a)) == low(store.Seed(1).Hash(b)) && low(store.Seed(2).Hash(a)) == low(store.Seed(2).Hash(b)) {
			collide++
		}
	}
	if collide > 2 { // of some 200 under one seed
		t.Errorf("%d pairs of keys collide under both seeds", collide)
	}
}

func low(h uint64) uint64 { return h & 1023 }

func TestHashIsStable(t *testing.T) {
	for _, key := range [][]byte{nil, {}, {0}, []byte("key"), make([]byte, store.MaxKey)} {
		k := store.Seed(5).Key(key)
		if !bytes.Equal(k.Bytes, key) || k.Hash != store.Seed(5).Hash(bytes.Clone(key)) {
			t.Errorf("key of %d bytes: %#x", len(key), k.Hash)
		}
	}
	if store.Seed(5).Hash([]byte{0}) == store.Seed(5).Hash(nil) {
		t.Error("the empty key and a zero byte have one hash")
	}
}

// TestPartitionOfUniform counts how keys spread over partitions.
func TestPartitionOfUniform(t *testing.T) {
	const keys = 200_000
	for _, n := range []int{1, 2, 3, 7, 8, 16, 48, 100} {
		counts := make([]int, n)
		for i := range uint64(keys) {
			counts[store.PartitionOf(store.Seed(9).Hash(binary.LittleEndian.AppendUint64(nil, i)), n)]++
		}
		mean := float64(keys) / float64(n)
		for p, c := range counts { // five standard deviations
			if math.Abs(float64(c)-mean) > 5*math.Sqrt(mean) {
				t.Errorf("%d partitions: %d keys in partition %d, the mean is %.0f", n, c, p, mean)
			}
		}
	}
}

// TestPartitionOfHighBits checks that the low bits, which engines use, do not choose
// the partition, and that the whole range of hashes is used.
func TestPartitionOfHighBits(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8, 1000, 1 << 20} {
		if p := store.PartitionOf(0, n); p != 0 {
			t.Errorf("the lowest hash is in partition %d of %d", p, n)
		}
		if p := store.PartitionOf(math.MaxUint64, n); p != n-1 {
			t.Errorf("the highest hash is in partition %d of %d", p, n)
		}
		last := 0
		for h := range uint64(1 << 16) {
			p := store.PartitionOf(h<<48, n)
			if p < last || p > store.PartitionOf(h<<48|(1<<48-1), n) {
				t.Fatalf("%d partitions: hash %#x is in %d, the one before in %d", n, h<<48, p, last)
			}
			last = p
			if store.PartitionOf(h<<48|0xffffffff, n) != p {
				t.Fatalf("%d partitions: the low 32 bits of hash %#x choose the partition", n, h<<48)
			}
		}
	}
	// If n is a power of two, exactly its bits choose.
	for h := range uint64(8) {
		if p := store.PartitionOf(h<<61|0x1fffffffffffffff, 8); p != int(h) {
			t.Errorf("highest bits %03b: partition %d of 8", h, p)
		}
	}
}
