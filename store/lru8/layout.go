package lru8

// DefaultItem is the length of key and value that New expects: 16 and 32 bytes, the
// papers' workload.
const DefaultItem = 48

// itemsPerBucket is how many items an average bucket has when the memory is full
// of items of the expected length. With 5 of 8, one item in 40 meets a full
// bucket while there is memory; with 6 it is one in 19, with 4 one in 120.
const itemsPerBucket = 5

// overhead is reserved for the Table itself, which is on the Go heap (L1).
const overhead = 4 << 10

// maxMemory keeps the number of buckets within 32 bits of a hash, and offsets within those
// of a slot.
const maxMemory = 1 << 40

// split divides the memory of a partition into buckets and item memory.
func split(memory int64, itemBytes int) (buckets, itemMemory uint64) {
	usable := uint64(memory) - overhead
	buckets = max(1, usable/(itemsPerBucket*blockSize(itemBytes, 0)+bucketSize))
	return buckets, usable - buckets*bucketSize
}
