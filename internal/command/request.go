package command

import (
	"encoding/binary"
	"errors"
)

// Bytes is what keys are made of.
type Bytes interface{ ~string | ~[]byte }

// MaxKey is the length of the longest key.
const MaxKey = 1<<16 - 1

// ErrMalformed says that a message cannot be read.
var ErrMalformed = errors.New("command: malformed")

const (
	conditionBits = 0x03
	hasFlags      = 0x10
	hasTTL        = 0x20

	keyLenSize  = 2
	versionSize = 6
	flagsSize   = 4
	ttlSize     = 8
	deltaSize   = 8
)

// Store is a put: an entry under a condition.
type Store struct {
	Key, Value []byte
	Condition  Condition
	Version    uint64 // of IfVersion
	Flags      uint32
	TTL        uint64 // milliseconds; 0 means no expiry
}

// AppendPut appends the request to store value under key. Of s it uses the other
// fields.
func AppendPut[K Bytes](b []byte, key K, value []byte, s *Store) []byte {
	head := byte(s.Condition)
	if s.Flags != 0 {
		head |= hasFlags
	}
	if s.TTL != 0 {
		head |= hasTTL
	}
	b = append(b, head, byte(len(key)), byte(len(key)>>8))
	if s.Condition == IfVersion {
		b = appendVersion(b, s.Version)
	}
	if s.Flags != 0 {
		b = binary.LittleEndian.AppendUint32(b, s.Flags)
	}
	if s.TTL != 0 {
		b = binary.LittleEndian.AppendUint64(b, s.TTL)
	}
	return append(append(b, key...), value...)
}

// Overhead is how much longer than key and value the request is.
func (s *Store) Overhead() int {
	n := 1 + keyLenSize
	if s.Condition == IfVersion {
		n += versionSize
	}
	if s.Flags != 0 {
		n += flagsSize
	}
	if s.TTL != 0 {
		n += ttlSize
	}
	return n
}

// PutSize is how much longer than key and value the request of a put is at most.
const PutSize = 1 + keyLenSize + versionSize + flagsSize + ttlSize

// ParsePut reads the request of a put.
func ParsePut(msg []byte) (s Store, err error) {
	r := reader{rest: msg}
	head := r.byte()
	keyLen := int(r.byte()) | int(r.byte())<<8
	s.Condition = Condition(head & conditionBits)
	if s.Condition == IfVersion {
		s.Version = r.version()
	}
	if head&hasFlags != 0 {
		s.Flags = r.uint32()
	}
	if head&hasTTL != 0 {
		s.TTL = r.uint64()
	}
	if r.short || head&^(conditionBits|hasFlags|hasTTL) != 0 || keyLen > len(r.rest) {
		return Store{}, ErrMalformed
	}
	s.Key, s.Value = r.rest[:keyLen:keyLen], r.rest[keyLen:]
	return s, nil
}

// AppendDelete appends the request to delete a key, if it has the version or that is
// 0.
func AppendDelete[K Bytes](b []byte, key K, version uint64) []byte {
	if version == 0 {
		b = append(b, byte(Always))
	} else {
		b = appendVersion(append(b, byte(IfVersion)), version)
	}
	return append(b, key...)
}

// DeleteOverhead is how much longer than the key the request of a delete is.
func DeleteOverhead(version uint64) int {
	if version == 0 {
		return 1
	}
	return 1 + versionSize
}

// TouchOverhead and IncrOverhead are how much longer than the key the requests of
// touch and incr are.
const (
	TouchOverhead = ttlSize
	IncrOverhead  = deltaSize
)

// ParseDelete reads the request of a delete.
func ParseDelete(msg []byte) (key []byte, version uint64, err error) {
	r := reader{rest: msg}
	switch Condition(r.byte()) {
	case Always:
	case IfVersion:
		if version = r.version(); version == 0 {
			return nil, 0, ErrMalformed // callers would take it for any version
		}
	default:
		return nil, 0, ErrMalformed
	}
	return r.rest, version, r.err()
}

// AppendTouch appends the request to set the time to live of a key.
func AppendTouch[K Bytes](b []byte, key K, ttl uint64) []byte {
	return append(binary.LittleEndian.AppendUint64(b, ttl), key...)
}

// ParseTouch reads the request of a touch.
func ParseTouch(msg []byte) (key []byte, ttl uint64, err error) {
	r := reader{rest: msg}
	ttl = r.uint64()
	return r.rest, ttl, r.err()
}

// AppendIncr appends the request to add to a counter.
func AppendIncr[K Bytes](b []byte, key K, delta int64) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(delta)), key...)
}

// ParseIncr reads the request of an incr.
func ParseIncr(msg []byte) (key []byte, delta int64, err error) {
	r := reader{rest: msg}
	delta = int64(r.uint64())
	return r.rest, delta, r.err()
}

// AppendHello appends the first request of a connection.
func AppendHello(b []byte) []byte { return binary.LittleEndian.AppendUint16(b, Protocol) }

// ParseHello reads the request of hello, and returns the protocol of the client.
func ParseHello(msg []byte) (protocol uint16, err error) {
	if len(msg) < 2 {
		return 0, ErrMalformed
	}
	return binary.LittleEndian.Uint16(msg), nil
}

// StatsPiece names a piece of the statistics of a core: from an offset in a report, which a stats
// request without a piece has begun.
type StatsPiece struct {
	Report uint64
	Core   uint32
	Offset uint32
}

// AppendStatsPiece appends a request for a piece of a report.
func AppendStatsPiece(b []byte, p StatsPiece) []byte {
	b = binary.LittleEndian.AppendUint64(b, p.Report)
	b = binary.LittleEndian.AppendUint32(b, p.Core)
	return binary.LittleEndian.AppendUint32(b, p.Offset)
}

// ParseStats reads a stats request; begin says that it begins a report.
func ParseStats(msg []byte) (p StatsPiece, begin bool, err error) {
	if len(msg) == 0 {
		return p, true, nil
	}
	if len(msg) != 16 {
		return p, false, ErrMalformed
	}
	le := binary.LittleEndian
	return StatsPiece{le.Uint64(msg), le.Uint32(msg[8:]), le.Uint32(msg[12:])}, false, nil
}

// AppendReport appends the result of a stats request that begins a report.
func AppendReport(b []byte, number uint64) []byte {
	return AppendStatus(binary.LittleEndian.AppendUint64(b, number), OK)
}

// ParseReport reads such a result without its status.
func ParseReport(body []byte) (number uint64, err error) {
	if len(body) != 8 {
		return 0, ErrMalformed
	}
	return binary.LittleEndian.Uint64(body), nil
}

// AppendPiece appends the result of a request for a piece: text is the whole document, nil while it
// is not ready.
func AppendPiece(b, text []byte, offset uint32, most int) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	if int64(offset) < int64(len(text)) {
		rest := text[offset:]
		b = append(b, rest[:min(len(rest), most)]...)
	}
	return AppendStatus(b, OK)
}

// ParsePiece reads such a result without its status: the length of the whole document, 0 while it is
// not ready, and the piece.
func ParsePiece(body []byte) (total int, piece []byte, err error) {
	if len(body) < 4 {
		return 0, nil, ErrMalformed
	}
	return int(binary.LittleEndian.Uint32(body)), body[4:], nil
}

func appendVersion(b []byte, v uint64) []byte {
	return append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24), byte(v>>32), byte(v>>40))
}

// reader takes fields from the front of a message. Once it was too short, all
// fields are 0.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if len(r.rest) < n {
		r.rest, r.short = nil, true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.take(flagsSize); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(ttlSize); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) version() uint64 {
	if b := r.take(versionSize); b != nil {
		return versionOf(b)
	}
	return 0
}

func (r *reader) err() error {
	if r.short {
		return ErrMalformed
	}
	return nil
}

// versionOf reads a version; b has at least versionSize bytes.
func versionOf(b []byte) uint64 {
	return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint16(b[4:]))<<32
}

// MaxUses is how many hashes a link request has at most.
const MaxUses = 16

// UsesSize is how many bytes n hashes add to a link request.
func UsesSize(n int) int { return 8*n + 1 }

// AppendUses appends the hashes behind the key of a link request.
func AppendUses(b []byte, hashes []uint64) []byte {
	for _, h := range hashes {
		b = binary.LittleEndian.AppendUint64(b, h)
	}
	return append(b, byte(len(hashes)))
}

// ParseLink reads a link request. The hashes are copied into uses.
func ParseLink(msg []byte, uses *[MaxUses]uint64) (key []byte, n int, err error) {
	last := len(msg) - 1
	if last < 0 || msg[last] > MaxUses || last < 8*int(msg[last]) {
		return nil, 0, ErrMalformed
	}
	n = int(msg[last])
	key = msg[:last-8*n]
	for i := range n {
		uses[i] = binary.LittleEndian.Uint64(msg[len(key)+8*i:])
	}
	return key, n, nil
}

// LinkKey returns the key of a link request, or nil if that is malformed.
func LinkKey(msg []byte) []byte {
	if last := len(msg) - 1; last >= 0 && msg[last] <= MaxUses && last >= 8*int(msg[last]) {
		return msg[:last-8*int(msg[last])]
	}
	return nil
}
