package storetest

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/remora-kv/remora/store"
)

// failure is the panic that ends a program.
type failure string

// thrower fails by a panic, so that a program can be played repeatedly.
type thrower struct{}

func (thrower) Helper() {}

func (thrower) Fatalf(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }

// play runs a program on a new partition, beside the model, and returns the first
// failure.
func play(engine Engine, program []byte, mode store.Mode) (err error) {
	at := -1
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = fmt.Errorf("command %d: %s", at, string(p))
		default:
			buf := make([]byte, 16<<10)
			err = fmt.Errorf("command %d: panic: %v\n%s", at, p, buf[:runtime.Stack(buf, false)])
		}
	}()
	cfg := configOf(program, mode)
	tb, err := newTable(thrower{}, engine, cfg)
	if err != nil {
		return err
	}
	tb.hash = hashOf(program, cfg.Seed)
	tb.refusable = true // hashes may collide
	tb.now = 1000
	commands := commandsOf(program)
	for i, c := range commands {
		at = i
		tb.step(c)
	}
	at = len(commands)
	tb.close()
	return nil
}

// step executes one command.
func (tb *table) step(c command) {
	key := c.keyBytes()
	if c.time%4 == 0 {
		tb.hint(c.extra)
	}
	e := store.Entry{Flags: uint32(c.extra) << 24, Expires: c.expires(tb.now)}
	switch opOf[c.op%16] {
	case opGet:
		tb.get(key)
	case opPut:
		e.Value = pattern(tb.model.last, c.valueSize(tb.cfg.MaxValue))
		tb.tryPut(key, e, store.Always())
	case opPutIf:
		tb.model.at(tb.now)
		e.Value = pattern(tb.model.last, c.valueSize(tb.cfg.MaxValue))
		tb.tryPut(key, e, c.condition(tb.model.belief(key), tb.model.last))
	case opPutView:
		from := command{key: c.extra}.keyBytes()
		if tb.get(from) != nil {
			_, item := tb.viewOf(from)
			e.Value = item.Value[min(int(c.size)%64, len(item.Value)):]
			_, _ = tb.putAsIs(store.Key{Hash: tb.hash(key), Bytes: key}, e, store.Always())
		}
	case opDelete:
		if c.extra < 128 {
			tb.tryDel(key, store.Always())
			return
		}
		tb.model.at(tb.now)
		tb.tryDel(key, c.condition(tb.model.belief(key), tb.model.last))
	case opTouch:
		tb.tryTouch(key, c.expires(tb.now))
	case opClock:
		tb.now += int64(c.time) - 64 // it may step back
	case opSync:
		if c.extra < 32 {
			tb.sync()
		}
	}
}

// hinted is the number of keys in a hint.
const hinted = 8

// hint prefetches the items of some keys, if the engine takes hints. That must not
// affect later results, even if the keys are changed meanwhile.
func (tb *table) hint(first byte) {
	p, ok := tb.p.(store.Prefetcher)
	if !ok {
		return
	}
	var hashes [hinted]uint64
	for i := range hashes {
		hashes[i] = tb.hash(command{key: first + byte(i)}.keyBytes())
		p.PrefetchIndex(hashes[i])
	}
	p.PrefetchItems(hashes[:])
}

// shrink removes commands of a failing program while it still fails, in at
// most some thousand attempts.
func shrink(program []byte, fails func(program []byte) bool) []byte {
	tries := 3000
	for chunk := len(program) / commandSize / 2; chunk >= 1; chunk /= 2 {
		for from := headerSize; from+chunk*commandSize <= len(program); {
			shorter := append(append([]byte{}, program[:from]...), program[from+chunk*commandSize:]...)
			if tries--; tries < 0 {
				return program
			}
			if fails(shorter) {
				program = shorter
			} else {
				from += chunk * commandSize
			}
		}
	}
	return program
}

// maxFuzz is how many commands of a program the fuzzer plays.
const maxFuzz = 300

// Fuzz plays programs from the fuzzer, in each mode of the engine.
//
//	func FuzzModel(f *testing.F) { storetest.Fuzz(f, engine) }
func Fuzz(f *testing.F, engine Engine) {
	for seed := range uint64(8) {
		f.Add(pattern(seed, headerSize+40*commandSize))
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		program = program[:min(len(program), headerSize+maxFuzz*commandSize)]
		for _, mode := range []store.Mode{store.Cache, store.Store} {
			if !engine.has(mode) {
				continue
			}
			if err := play(engine, program, mode); err != nil {
				t.Fatalf("%v\n%s", err, listing(program, mode))
			}
		}
	})
}
