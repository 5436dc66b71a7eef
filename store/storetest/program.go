package storetest

import (
	"fmt"
	"strings"

	"github.com/remora-kv/remora/store"
)

// A program is any bytes: a header that chooses the configuration, then commands of a
// fixed size, so that a command can be removed without changing the others. A remainder
// at the end is ignored.
const (
	headerSize  = 4
	commandSize = 6
)

// command is one step of a program.
type command struct {
	op    byte
	key   byte
	size  uint16
	extra byte
	time  byte
}

// Operations.
const (
	opGet = iota
	opPut
	opPutIf
	opPutView
	opDelete
	opTouch
	opClock
	opSync
)

var opNames = [...]string{"get", "put", "put-if", "put-view", "delete", "touch", "clock", "sync"}

// opOf maps the 16 values of op to operations, by their share.
var opOf = [16]int{opGet, opGet, opGet, opGet, opPut, opPut, opPut, opPut, opPut, opPutIf, opPutIf, opPutView, opDelete, opTouch, opClock, opSync}

// commandsOf decodes the commands of a program.
func commandsOf(program []byte) []command {
	var all []command
	for b := program[min(len(program), headerSize):]; len(b) >= commandSize; b = b[commandSize:] {
		all = append(all, command{b[0], b[1], uint16(b[2])<<8 | uint16(b[3]), b[4], b[5]})
	}
	return all
}

// configOf decodes the configuration.
func configOf(program []byte, mode store.Mode) store.Config {
	var h [headerSize]byte
	copy(h[:], program)
	return store.Config{
		Arena:        store.NewArena(nil),
		Mode:         mode,
		Memory:       []int64{store.MinMemory, 80_001, 128 << 10, 512 << 10}[h[0]%4],
		MaxValue:     []int{100, 3000, 20_000, 0}[h[0]/4%4],
		Eviction:     store.Eviction(h[1] % 2),
		FirstVersion: []uint64{0, 0, 1<<32 - 5, store.MaxVersion / 2}[h[1]/2%4],
		Seed:         store.Seed(h[2]),
	}
}

// hashOf decodes how keys are hashed: well in most programs.
func hashOf(program []byte, seed store.Seed) func(key []byte) uint64 {
	if len(program) < headerSize {
		return seed.Hash
	}
	switch program[3] % 8 {
	case 0:
		return func([]byte) uint64 { return 42 }
	case 1:
		return func(key []byte) uint64 { return seed.Hash(key)<<32 | 7 }
	case 2:
		return func(key []byte) uint64 { return seed.Hash(key) % 5 }
	case 3:
		return func(key []byte) uint64 { return seed.Hash(key) % 64 }
	}
	return seed.Hash
}

// keyBytes returns keys of all kinds of length: empty, short, long.
func (c command) keyBytes() []byte {
	switch {
	case c.key < 4:
		return pattern(0, int(c.key))
	case c.key >= 250:
		return pattern(uint64(c.key), 1000)
	}
	return numbered(int(c.key), 8+int(c.key)%24)
}

// valueSize returns lengths that are mostly small, sometimes large, sometimes around the limit.
func (c command) valueSize(limit int) int {
	n := int(c.size) & 0x1fff
	switch c.size >> 13 {
	case 7:
		return max(0, min(limit, 20_000)-2+n%5)
	case 5, 6:
		return min(n, limit)
	}
	return min(n&0xff, limit)
}

// expires returns never, soon, or now.
func (c command) expires(now int64) int64 {
	if c.time < 128 {
		return 0
	}
	return now + int64(c.time) - 132
}

// condition decodes a condition. A condition on a version mostly has the right one.
func (c command) condition(b belief, last uint64) store.Condition {
	switch c.extra % 4 {
	case 0:
		return store.IfAbsent()
	case 1:
		return store.IfPresent()
	}
	if b.record != nil && c.extra%8 != 2 {
		return store.IfVersion(b.record.version)
	}
	return store.IfVersion(last)
}

func (c command) String() string {
	return fmt.Sprintf("%-8s key %3d size %#04x extra %3d time %3d", opNames[opOf[c.op%16]], c.key, c.size, c.extra, c.time)
}

// listing formats a program for people.
func listing(program []byte, mode store.Mode) string {
	var s strings.Builder
	cfg := configOf(program, mode)
	fmt.Fprintf(&s, "program %x\nmemory %d, values up to %d, mode %d, eviction %d, first version %d\n",
		program, cfg.Memory, cfg.MaxValue, cfg.Mode, cfg.Eviction, cfg.FirstVersion)
	for i, c := range commandsOf(program) {
		fmt.Fprintf(&s, "%4d  %v\n", i, c)
	}
	return s.String()
}
