package store

// MaxKey is the length of the longest key.
const MaxKey = 1<<16 - 1

// MaxValueLimit bounds Config.MaxValue.
const MaxValueLimit = 64 << 20

// MaxVersion is the largest version (S2).
const MaxVersion = 1<<48 - 1

// Key is a key with its hash (Seed.Hash). The bytes stay the caller's.
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

// Item is what is stored under a key. Value is a view (S5).
type Item struct {
	Value   []byte
	Version uint64
	Expires int64 // 0 is never
	Flags   uint32
}

// Condition says on which state of a key a change may happen.
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

// Always changes whatever is there. It is the zero Condition.
func Always() Condition { return Condition{} }

// IfAbsent changes only a key that is not there; else ErrExists.
func IfAbsent() Condition { return Condition{kind: ifAbsent} }

// IfPresent changes only a key that is there; else ErrNotFound.
func IfPresent() Condition { return Condition{kind: ifPresent} }

// IfVersion changes only an item of this version: ErrNotFound if there is none,
// ErrVersion if it has another.
func IfVersion(version uint64) Condition { return Condition{kind: ifVersion, version: version} }

// Met returns nil if a change under this condition may happen to an item of
// this version, 0 for one that is not there.
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
	// item's new version. The error is one of the condition, ErrTooLarge, or
	// ErrFull: in Store mode when there is no room, in Cache mode when the
	// item alone is larger than the memory.
	Put(k Key, e Entry, c Condition, now int64) (version uint64, err error)

	// Delete removes the item if the condition is met. A key that is not there
	// is ErrNotFound under Always too.
	Delete(k Key, c Condition, now int64) error

	// Touch sets the time when the item expires, 0 for never, and counts it as
	// used. The version stays.
	Touch(k Key, expires, now int64) error

	// Each calls visit for every item that has not expired, in no order, until
	// visit returns false. The key and the item are views; visit must not change
	// the partition.
	Each(now int64, visit func(k Key, item Item) bool)

	// Stats returns what the partition holds and did.
	Stats() Stats

	// Check reads every item and index entry and returns what breaks the
	// engine's invariants, as an error that wraps ErrCorrupt (S7). It is slow.
	Check() error

	// Close frees the memory. Nothing may be called after it.
	Close() error
}

// Reader is a Partition that writes what Get returns into memory of the caller,
// which spares copies of it on the way. The item is left as it is where there is an
// error.
type Reader interface {
	Read(k Key, now int64, item *Item) error
}

// ReaderOf returns p, if it is a Reader, or else one that calls its Get.
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

// Prefetcher is a Partition that can start to load what a later call will touch.
// Both hints may be given for keys that do not exist. Hints have no effect on
// results.
type Prefetcher interface {
	// PrefetchIndex starts to load the index entry of the hash.
	PrefetchIndex(hash uint64)
	// PrefetchItems reads the index entries of the hashes, some time after they
	// were hinted at, and starts to load the items.
	PrefetchItems(hashes []uint64)
}

// Stats is what a partition holds now and what it did since it was made.
type Stats struct {
	Items      int64 `json:"items"`       // items that can be found, expired ones that were not come across included
	KeyBytes   int64 `json:"key_bytes"`   // bytes of their keys
	ValueBytes int64 `json:"value_bytes"` // bytes of their values

	Memory     int64 `json:"memory"`      // Config.Memory
	IndexBytes int64 `json:"index_bytes"` // used by the index
	ItemBytes  int64 `json:"item_bytes"`  // used by items, their headers and padding included

	Gets    uint64 `json:"gets"`
	Hits    uint64 `json:"hits"`
	Puts    uint64 `json:"puts"`    // that succeeded
	Deletes uint64 `json:"deletes"` // that succeeded
	Evicted uint64 `json:"evicted"` // items that were lost to make room
	Expired uint64 `json:"expired"` // items that were reclaimed after their expiry
	Rescued uint64 `json:"rescued"` // items that were kept when their turn came, because they had been used
	Refused uint64 `json:"refused"` // Puts that failed with ErrFull
}
