package extent

import (
	"bytes"
	"encoding/binary"

	"github.com/remora-kv/remora/store"
)

// Record is an item in memory: its body, and the word with its version and the length of
// its key. In a block the word precedes the body. Other bytes may follow the body.
type Record struct {
	Body []byte
	Word uint64
}

// Offsets of the fields of a body, and the size of the word before it.
const (
	BodyHash    = 0
	BodyExpires = 8
	BodyFlags   = 16 // 32 bits of flags, then 32 bits length of the value
	BodyData    = 24
	WordSize    = 8
)

// NewWord returns the word of a record.
func NewWord(version uint64, keySize int) uint64 { return version<<16 | uint64(keySize) }

// RecordIn returns the record whose body is at offset body of b.
func RecordIn(b []byte, body uint64) Record {
	return Record{b[body:], binary.NativeEndian.Uint64(b[body-WordSize:])}
}

func (r Record) field(at int) uint64 { return binary.NativeEndian.Uint64(r.Body[at:]) }

// Version returns the version of the item.
func (r Record) Version() uint64 { return r.Word >> 16 }

// KeySize returns the length of the key.
func (r Record) KeySize() uint64 { return r.Word & store.MaxKey }

// ValueSize returns the length of the value.
func (r Record) ValueSize() uint64 { return r.field(BodyFlags) >> 32 }

// Size returns the length of the body.
func (r Record) Size() uint64 { return BodyData + r.KeySize() + r.ValueSize() }

// Hash returns the hash of the key.
func (r Record) Hash() uint64 { return r.field(BodyHash) }

// Expires returns when the item expires, 0 for never.
func (r Record) Expires() int64 { return int64(r.field(BodyExpires)) }

// Expired reports whether the item has expired.
func (r Record) Expired(now int64) bool {
	e := r.Expires()
	return e != 0 && e <= now
}

// IsWhole reports whether Body is long enough for the lengths in the record. In a record
// that a peer sent, only Word and the lengths may be used before this is checked.
func (r Record) IsWhole() bool {
	return len(r.Body) >= BodyData && r.Size() <= uint64(len(r.Body))
}

// Key returns a view of the key.
func (r Record) Key() []byte {
	to := BodyData + r.KeySize()
	return r.Body[BodyData:to:to]
}

// Value returns a view of the value.
func (r Record) Value() []byte {
	from, to := BodyData+r.KeySize(), r.Size()
	return r.Body[from:to:to]
}

// IsKey reports whether the item has this key.
func (r Record) IsKey(key []byte) bool {
	return r.KeySize() == uint64(len(key)) && bytes.Equal(r.Key(), key)
}

// Show fills in item. The value is a view.
func (r Record) Show(item *store.Item) {
	item.Value = r.Value()
	item.Version = r.Version()
	item.Expires = r.Expires()
	item.Flags = uint32(r.field(BodyFlags))
}

// StoreKey returns the key with its hash.
func (r Record) StoreKey() store.Key { return store.Key{Hash: r.Hash(), Bytes: r.Key()} }
