package hopscotch

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/zeebo/xxh3"

	"github.com/remora-kv/remora/store"
)

// record is an item as it lies in memory: its body, and the word that has its version and
// the length of its key. Bytes may follow the body.
type record struct {
	body []byte
	word uint64
}

// Where the fields of a body are.
const (
	bodyHash    = 0
	bodyExpires = 8
	bodyFlags   = 16
	bodyData    = 24
)

func newWord(version uint64, keySize int) uint64 { return version<<16 | uint64(keySize) }

func (r record) version() uint64   { return r.word >> 16 }
func (r record) keySize() uint64   { return r.word & store.MaxKey }
func (r record) hash() uint64      { return binary.LittleEndian.Uint64(r.body[bodyHash:]) }
func (r record) expires() int64    { return int64(binary.LittleEndian.Uint64(r.body[bodyExpires:])) }
func (r record) flags() uint32     { return binary.LittleEndian.Uint32(r.body[bodyFlags:]) }
func (r record) valueSize() uint64 { return uint64(binary.LittleEndian.Uint32(r.body[bodyFlags+4:])) }

// size is the length of the body.
func (r record) size() uint64 { return bodyData + r.keySize() + r.valueSize() }

// isWhole says whether the body is as long as it says. Nothing but the lengths may be asked
// of a record that comes from elsewhere before that is known.
func (r record) isWhole() bool {
	return len(r.body) >= bodyData && r.size() <= uint64(len(r.body))
}

func (r record) key() []byte {
	to := bodyData + r.keySize()
	return r.body[bodyData:to:to]
}

func (r record) value() []byte {
	from, to := bodyData+r.keySize(), r.size()
	return r.body[from:to:to]
}

func (r record) isKey(key []byte) bool {
	return r.keySize() == uint64(len(key)) && bytes.Equal(r.key(), key)
}

// expired says whether the item is gone.
func (r record) expired(now int64) bool {
	e := r.expires()
	return e != 0 && e <= now
}

// show fills in the item, with its value as a view.
func (r record) show(item *store.Item) {
	item.Value = r.value()
	item.Version = r.version()
	item.Expires = r.expires()
	item.Flags = r.flags()
}

// sum is the checksum of the record, of the link beside it and of nothing else. The seed
// is that of the table.
func (r record) sum(seed uint64, beside link) uint64 {
	const odd, other = 0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f
	mixed := (r.word^seed)*odd ^ bits.RotateLeft64(uint64(beside)*other, 32)
	return xxh3.HashSeed(r.body[:r.size()], mixed)
}
