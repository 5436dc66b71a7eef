package store

// MaxKey is the length of the longest key.
const MaxKey = 1<<16 - 1

// MaxValueLimit bounds Config.MaxValue.
const MaxValueLimit = 64 << 20

// MaxVersion is the largest version (S2).
const MaxVersion = 1<<48 - 1

// Key is a key with its hash (Seed.Hash). The caller owns the bytes.
type Key struct {
	Hash  uint64
	Bytes []byte
}

// Entry is what Put stores beside the key.
type Entry struct {
	Value   []byte
	Flags   uint32
	Expires int64 // milliseconds since the epoch; 0 is never
}

// Item is the item of a key. Value is a view (S5).
type Item struct {
	Value   []byte
	Version uint64
	Expires int64 // 0 is never
	Flags   uint32
}

// Condition says in which state of a key a change may happen.
type Condition struct {
	kind    conditionKind
	version uint64
}

type conditionKind uint8

const (
	always conditionKind = iota
	ifAbsent
	ifPresent
	ifVersion
)

// Always permits every change. It is the zero Condition.
func Always() Condition { return Condition{} }

// IfAbsent permits a change if the key does not exist; otherwise the error is ErrExists.
func IfAbsent() Condition { return Condition{kind: ifAbsent} }

// IfPresent permits a change if the key exists; otherwise the error is ErrNotFound.
func IfPresent() Condition { return Condition{kind: ifPresent} }

// IfVersion permits a change if the item has this version. The error is ErrNotFound if
// there is no item, and ErrVersion if it has another version.
func IfVersion(version uint64) Condition { return Condition{kind: ifVersion, version: version} }

// Met returns nil if the condition permits a change of an item of this version.
// Version 0 means that there is no item.
func (c Condition) Met(version uint64) error {
	switch {
	case c.kind == always, c.kind == ifAbsent && version == 0, c.kind == ifPresent && version != 0:
		return nil
	case c.kind == ifAbsent:
		return ErrExists
	case version == 0:
		return ErrNotFound
	case c.version != version:
		return ErrVersion
	}
	return nil
}

// Partition is one engine's table. One goroutine uses it at a time.
type Partition interface {
	// Get returns the item (S1) and counts it as used. The error is nil or
	// ErrNotFound.
	Get(k Key, now int64) (Item, error)

	// Put stores e under the key if the condition is met, and returns the
	// item's new version. The error is that of Condition.Met, ErrTooLarge, or
	// ErrFull: in Store mode when there is no room, in Cache mode when the
	// item alone is larger than the memory.
	Put(k Key, e Entry, c Condition, now int64) (version uint64, err error)

	// Delete removes the item if the condition is met. If there is no item, the
	// error is ErrNotFound, under Always too.
	Delete(k Key, c Condition, now int64) error

	// Touch sets the time when the item expires, 0 for never, and counts it as
	// used. The version does not change.
	Touch(k Key, expires, now int64) error

	// Each calls visit for every item that has not expired, in no order, until
	// visit returns false. The key and the item are views; visit must not change
	// the partition.
	Each(now int64, visit func(k Key, item Item) bool)

	// Stats returns the contents and the counters of the partition.
	Stats() Stats

	// Check reads every item and index entry. If an invariant of the engine does not
	// hold, it returns an error that wraps ErrCorrupt (S7). It is slow.
	Check() error

	// Close frees the memory. No method may be called after it.
	Close() error
}

// Reader is a Partition whose Read does what Get does, but writes the item into memory
// of the caller, which saves copies. Read leaves item unchanged if it returns an error.
type Reader interface {
	Read(k Key, now int64, item *Item) error
}

// ReaderOf returns p if it is a Reader, or else a Reader that calls its Get.
func ReaderOf(p Partition) Reader {
	if r, ok := p.(Reader); ok {
		return r
	}
	return getter{p}
}

// getter reads by Get.
type getter struct{ Partition }

func (g getter) Read(k Key, now int64, item *Item) error {
	got, err := g.Get(k, now)
	if err == nil {
		*item = got
	}
	return err
}

// Prefetcher is a Partition that can start to load memory that a later call will
// access. Both methods are hints: they may be called for keys that do not exist, and
// have no effect on results.
type Prefetcher interface {
	// PrefetchIndex starts to load the index entry of the hash.
	PrefetchIndex(hash uint64)
	// PrefetchItems reads the index entries of the hashes, some time after
	// PrefetchIndex, and starts to load the items.
	PrefetchItems(hashes []uint64)
}

// Stats counts what a partition holds, and what it did since it was made.
type Stats struct {
	Items      int64 `json:"items"`       // items in the index, including expired ones not yet reclaimed
	KeyBytes   int64 `json:"key_bytes"`   // bytes of their keys
	ValueBytes int64 `json:"value_bytes"` // bytes of their values

	Memory     int64 `json:"memory"`      // Config.Memory
	IndexBytes int64 `json:"index_bytes"` // used by the index
	ItemBytes  int64 `json:"item_bytes"`  // used by items, their headers and padding included

	Gets    uint64 `json:"gets"`
	Hits    uint64 `json:"hits"`
	Puts    uint64 `json:"puts"`    // successful ones
	Deletes uint64 `json:"deletes"` // successful ones
	Evicted uint64 `json:"evicted"` // items evicted to make room
	Expired uint64 `json:"expired"` // items reclaimed after their expiry
	Rescued uint64 `json:"rescued"` // items spared by eviction because they had been used
	Refused uint64 `json:"refused"` // Puts that failed with ErrFull
}
