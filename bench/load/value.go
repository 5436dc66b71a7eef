package load

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Values makes values and checks them (W5). It belongs to one thread.
//
//	| key | stamp | word 2 | word 3 | ...          up to 128 B every word
//	| key | stamp | filling ... word ... word |    above, one word in 64 B, from 4 KiB
//	                                               on one in 1 KiB, and the last
//
// key is a function of the index, and a word one of the index, the stamp and its
// place. What is too short for a stamp has the same value always.
type Values struct {
	varies bool
	any    bool // the size is not a function of the index
	sizes  Sizes
	size   int // of the value at hand
	stride int // bytes from one word behind the stamp to the next
	first  int // where the first of them is
	end    int // where they end
	tail   int // from there to the end of the value is one more, or part of one
}

const (
	word = 8
	// stamped is the size from which on there is a stamp, and a word that proves it.
	stamped = 3 * word
	// whole is the size up to which every word is written and checked, and near
	// and far the distances between words above it: what they take is to be small
	// against moving the value.
	whole   = 128
	nearby  = 64
	medium  = 4 << 10
	far     = 1 << 10
	filling = 0xA5
)

// ErrValue is wrapped by what is wrong with a value.
var ErrValue = errors.New("a wrong value")

// ValuesOf makes values of all those sizes, each at least 1.
func ValuesOf(sizes Sizes) Values {
	if sizes.Least() < 1 {
		panic(fmt.Sprintf("workload: values of %d bytes", sizes.Least()))
	}
	v := Values{sizes: sizes, varies: sizes.varies()}
	v.resize(sizes.Least())
	return v
}

// ValuesOfAnySize makes values of which the caller says the size, by FillSized. Check then
// takes them for what they are long: all but their length is checked. Where the caller has
// no size it is that of sizes.
func ValuesOfAnySize(sizes Sizes) Values {
	v := ValuesOf(sizes)
	v.varies, v.any = true, true
	return v
}

// FillSized is Fill of a value of so many bytes; negative: what the sizes say.
func (v *Values) FillSized(b []byte, index, stamp uint64, size int) []byte {
	if size < 0 {
		size = v.sizes.At(index)
	}
	if size > len(b) {
		b = bytes.Repeat([]byte{filling}, size)
	}
	v.resize(size)
	v.varies = false
	b = v.Fill(b, index, stamp)
	v.varies = true
	return b
}

// expect makes the value at hand one as long as it is to be.
func (v *Values) expect(b []byte, index uint64) {
	if v.any {
		v.resize(len(b))
	} else {
		v.resize(v.sizes.At(index))
	}
}

// resize makes the value at hand one of so many bytes.
func (v *Values) resize(size int) {
	v.size, v.end, v.tail = size, size-word, size-word
	switch {
	case size <= whole:
		v.stride, v.first, v.end, v.tail = word, 2*word, size, size&^(word-1)
	case size <= medium:
		v.stride, v.first = nearby, nearby
	default:
		v.stride, v.first = far, far
	}
}

// Buffer returns memory for Fill.
func (v *Values) Buffer() []byte { return bytes.Repeat([]byte{filling}, v.sizes.Most()) }

// Fill makes the value of a key, with the stamp of a put, at the start of memory from
// Buffer, and returns it.
func (v *Values) Fill(b []byte, index, stamp uint64) []byte {
	if v.varies {
		v.resize(v.sizes.At(index))
	}
	b = b[:v.size]
	key := keyWord(index)
	if v.size < stamped {
		short(b, key)
		return b
	}
	binary.LittleEndian.PutUint64(b, key)
	binary.LittleEndian.PutUint64(b[word:], stamp)
	base := key ^ mix(stamp)
	for at := v.first; at+word <= v.end; at += v.stride {
		binary.LittleEndian.PutUint64(b[at:], base+uint64(at))
	}
	if v.tail < v.size {
		var w [word]byte
		binary.LittleEndian.PutUint64(w[:], base+uint64(v.tail))
		copy(b[v.tail:v.size], w[:])
	}
	return b
}

// Check returns what is wrong with the value of a key; nil if nothing is.
func (v *Values) Check(b []byte, index uint64) error {
	if v.varies {
		v.expect(b, index)
	}
	if len(b) != v.size {
		return v.lengthError(b, index)
	}
	key := keyWord(index)
	if v.size < stamped {
		return v.checkShort(b, index, key)
	}
	if got := binary.LittleEndian.Uint64(b); got != key {
		return v.keyError(got, index, key)
	}
	stamp := binary.LittleEndian.Uint64(b[word:])
	base := key ^ mix(stamp)
	for at := v.first; at+word <= v.end; at += v.stride {
		if binary.LittleEndian.Uint64(b[at:]) != base+uint64(at) {
			return v.torn(index, at)
		}
	}
	if v.tail < v.size {
		return v.checkTail(b, index, base)
	}
	return nil
}

// checkTail checks the last word, or part of one.
func (v *Values) checkTail(b []byte, index, base uint64) error {
	var want [word]byte
	binary.LittleEndian.PutUint64(want[:], base+uint64(v.tail))
	if string(b[v.tail:]) != string(want[:v.size-v.tail]) {
		return v.torn(index, v.tail)
	}
	return nil
}

func (v *Values) lengthError(b []byte, index uint64) error {
	return fmt.Errorf("%w: %d bytes under key %d, want %d", ErrValue, len(b), index, v.size)
}

func (v *Values) keyError(got, index, key uint64) error {
	return fmt.Errorf("%w: it is not that of key %d (%#x, want %#x)", ErrValue, index, got, key)
}

func (v *Values) torn(index uint64, at int) error {
	return fmt.Errorf("%w: that of key %d changes at byte %d of %d", ErrValue, index, at, v.size)
}

func (v *Values) checkShort(b []byte, index, key uint64) error {
	var want [stamped]byte
	short(want[:v.size], key)
	if string(b) != string(want[:v.size]) {
		return fmt.Errorf("%w: it is not that of key %d (%x, want %x)", ErrValue, index, b, want[:v.size])
	}
	return nil
}

// short fills a value that is too short for a stamp.
func short(b []byte, key uint64) {
	var w [stamped]byte
	for i := 0; i < len(w); i += word {
		binary.LittleEndian.PutUint64(w[i:], key)
		key = mix(key)
	}
	copy(b, w[:])
}

// keyWord is what a value says about its key.
func keyWord(index uint64) uint64 { return mix(index + golden) }
