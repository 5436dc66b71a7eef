package slots

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// A shadow is the engine's private copy of a slot's state: seven words.
//
//	+-------+--------+--------+-------+---------+--------+------+---------+-----+--------+-------+
//	| state | key    | value  | flags | version | points | hash | expires | sum | access | guard |
//	|       | length | length |       | 48 bits | 16 bit |      |         |     | _count |       |
//	+-------+--------+--------+-------+---------+--------+------+---------+-----+--------+-------+
//
// The guard is a checksum over all but points and access_count, which are hints.
const (
	shadowSize = 56

	ofVersion = 8
	ofPoints  = 14
	ofHash    = 16
	ofExpires = 24
	ofSum     = 32
	ofCount   = 40
	ofGuard   = 48
)

// shadow is the bytes of one shadow.
type shadow []byte

// contents is the contents of a shadow that hold writes.
type contents struct {
	keySize, valueSize int
	flags              uint32
	version            uint64
	hash               uint64
	expires            int64
	sum                uint64
}

func (s shadow) word(at int) uint64       { return binary.LittleEndian.Uint64(s[at:]) }
func (s shadow) setWord(at int, v uint64) { binary.LittleEndian.PutUint64(s[at:], v) }

func (s shadow) state() state     { return state(s[0]) }
func (s shadow) keySize() int     { return int(s[1]) }
func (s shadow) valueSize() int   { return int(binary.LittleEndian.Uint16(s[2:])) }
func (s shadow) flags() uint32    { return binary.LittleEndian.Uint32(s[4:]) }
func (s shadow) version() uint64  { return s.word(ofVersion) << 16 >> 16 }
func (s shadow) hash() uint64     { return s.word(ofHash) }
func (s shadow) expires() int64   { return int64(s.word(ofExpires)) }
func (s shadow) sum() uint64      { return s.word(ofSum) }
func (s shadow) head() head       { return newHead(s.version(), s.keySize()) }
func (s shadow) points() uint16   { return binary.LittleEndian.Uint16(s[ofPoints:]) }
func (s shadow) lastUses() uint64 { return s.word(ofCount) }

func (s shadow) setPoints(n uint16)   { binary.LittleEndian.PutUint16(s[ofPoints:], n) }
func (s shadow) setLastUses(n uint64) { s.setWord(ofCount, n) }

func (s shadow) expired(now int64) bool { return s.expires() != 0 && s.expires() <= now }

// hold makes it the shadow of an item. Points and access_count do not change.
func (s shadow) hold(b *contents) {
	s[0], s[1] = byte(occupied), byte(b.keySize)
	binary.LittleEndian.PutUint16(s[2:], uint16(b.valueSize))
	binary.LittleEndian.PutUint32(s[4:], b.flags)
	s.setWord(ofVersion, b.version|uint64(s.points())<<48)
	s.setWord(ofHash, b.hash)
	s.setWord(ofExpires, uint64(b.expires))
	s.setWord(ofSum, b.sum)
	s.setWord(ofGuard, s.guard())
}

// touch sets the expiry, and with it the checksum of the slot.
func (s shadow) touch(expires int64, sum uint64) {
	s.setWord(ofExpires, uint64(expires))
	s.setWord(ofSum, sum)
	s.setWord(ofGuard, s.guard())
}

// leave makes it the shadow of a slot without an item.
func (s shadow) leave(st state) {
	clear(s)
	s[0] = byte(st)
}

// guard returns the expected value of the guard.
func (s shadow) guard() uint64 {
	return xxh3.HashSeed(s[ofHash:ofCount], xxh3.HashSeed(s[:ofPoints], 0))
}

// intact reports whether a shadow matches its guard.
func (s shadow) intact() bool {
	switch s.state() {
	case occupied:
		return s.word(ofGuard) == s.guard()
	case empty, tombstone:
		for _, b := range s[1:] {
			if b != 0 {
				return false
			}
		}
		return true
	}
	return false
}
