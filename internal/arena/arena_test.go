package arena

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
)

func mustAlloc(t *testing.T, a *Arena, purpose string, size int) *Block {
	t.Helper()
	b, err := a.Alloc(purpose, size)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustFree(t *testing.T, b *Block) {
	t.Helper()
	if err := b.Free(); err != nil {
		t.Error(err)
	}
}

func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
			t.Errorf("panic %q, want it to contain %q", got, want)
		}
	}()
	f()
}

// A1, A2: zeroed, aligned, and exactly as long as was asked for.
func TestAllocIsZeroedAlignedAndExact(t *testing.T) {
	a := New()
	for _, size := range []int{1, 63, 64, 65, 4095, 4096, 4097, 1 << 20} {
		b := mustAlloc(t, a, "test", size)
		mem := b.Bytes()
		if len(mem) != size || cap(mem) != size || b.Size() != size {
			t.Errorf("%d bytes: len %d, cap %d, Size %d", size, len(mem), cap(mem), b.Size())
		}
		if at := address(mem); at%4096 != 0 {
			t.Errorf("%d bytes at %#x, want a multiple of 4096", size, at)
		}
		for i, v := range mem {
			if v != 0 {
				t.Fatalf("byte %d of %d is %#x, want 0", i, size, v)
			}
			mem[i] = 0xFF
		}
		if b.FD() != -1 || b.Purpose() != "test" {
			t.Errorf("FD %d, Purpose %q", b.FD(), b.Purpose())
		}
		mustFree(t, b)
	}
}

// A6: blocks are counted by purpose, from Alloc to Free.
func TestStats(t *testing.T) {
	a := New()
	if got := a.Stats(); len(got) != 0 {
		t.Errorf("new arena: %v", got)
	}
	log1, index, log2 := mustAlloc(t, a, "log", 1000), mustAlloc(t, a, "index", 64), mustAlloc(t, a, "log", 24)
	if got, want := a.Stats(), []Usage{{Purpose: "index", Blocks: 1, Bytes: 64}, {Purpose: "log", Blocks: 2, Bytes: 1024}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	mustFree(t, log1)
	mustFree(t, index)
	if got, want := a.Stats(), []Usage{{Purpose: "log", Blocks: 1, Bytes: 24}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	mustFree(t, log2)
	if got := a.Stats(); len(got) != 0 {
		t.Errorf("after all frees: %v", got)
	}
}

// Exported blocks come from the source, are counted, and are given back to it.
func TestExport(t *testing.T) {
	freed := 0
	var asked Seal
	a := NewFrom(func(_ string, size int, seal Seal) ([]byte, any, func() error, error) {
		if size == 13 {
			return nil, nil, nil, fmt.Errorf("no such luck")
		}
		asked = seal
		return make([]byte, size+5), "the source", func() error { freed++; return nil }, nil
	})
	b, err := a.Export("table", 100, ReadWriteForOthers)
	if err != nil || len(b.Bytes()) != 100 || cap(b.Bytes()) != 100 || b.Owner() != "the source" || asked != ReadWriteForOthers {
		t.Fatalf("%+v, %v, asked for %v", b, err, asked)
	}
	if got, want := a.Stats(), []Usage{{Purpose: "table", Blocks: 1, Bytes: 100}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if !a.Exports() || New().Exports() {
		t.Error("an arena does not know whether it has a source")
	}
	private := mustAlloc(t, a, "private", 10)
	if private.Owner() != nil || freed != 0 {
		t.Errorf("a private block of %v", private.Owner())
	}
	mustFree(t, private)
	mustFree(t, b)
	if freed != 1 || len(a.Stats()) != 0 {
		t.Errorf("freed %d times, %v is left", freed, a.Stats())
	}
	if _, err := a.Export("table", 13, ReadOnlyForOthers); err == nil || !strings.Contains(err.Error(), "table: cannot allocate 13 bytes for others to read: no such luck") {
		t.Errorf("of a source that fails: %v", err)
	}
	mustPanic(t, "Export of 0 bytes", func() { _, _ = a.Export("x", 0, ReadOnlyForOthers) })

	own, err := New().Export("table", 10, ReadOnlyForOthers)
	if err != nil || own.Owner() != nil {
		t.Fatalf("without a source: %+v, %v", own, err)
	}
	mustFree(t, own)
}

func TestMisusePanics(t *testing.T) {
	a := New()
	mustPanic(t, "Alloc of 0 bytes", func() { _, _ = a.Alloc("x", 0) })
	mustPanic(t, "Alloc of -7 bytes", func() { _, _ = a.Alloc("x", -7) })
	mustPanic(t, "AllocShared of 0 bytes", func() { _, _ = a.AllocShared("x", 0, ReadWriteForOthers) })
	mustPanic(t, "Map of -1 bytes", func() { _, _ = a.Map("x", 0, -1, false) })
	b := mustAlloc(t, a, "log", 10)
	mustFree(t, b)
	mustPanic(t, "log: block of 10 bytes freed twice", func() { _ = b.Free() })
	mustPanic(t, "log: Bytes of a block that was freed", func() { b.Bytes() })
	if got := a.Stats(); len(got) != 0 {
		t.Errorf("misuse was counted: %v", got)
	}
}

func TestTooMuchIsAnError(t *testing.T) {
	a := New()
	const size = math.MaxInt / 2
	_, err := a.Alloc("mica log", size)
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{"mica log", fmt.Sprint(size), "check"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
	if got := a.Stats(); len(got) != 0 {
		t.Errorf("a failed Alloc was counted: %v", got)
	}
}

func TestHugePagesNeverMatters(t *testing.T) {
	a := New()
	small, large := mustAlloc(t, a, "small", 4096), mustAlloc(t, a, "large", 8<<20)
	if small.HugePages() {
		t.Error("4096 bytes took the hint")
	}
	t.Logf("8 MiB took the hint: %v", large.HugePages())
	large.Bytes()[8<<20-1] = 1
	mustFree(t, small)
	mustFree(t, large)
}

func TestConcurrentUse(t *testing.T) {
	a := New()
	var users sync.WaitGroup
	for i := range 8 {
		users.Go(func() {
			for range 50 {
				b, err := a.Alloc(fmt.Sprintf("user %d", i%3), 100)
				if err != nil {
					t.Error(err)
					return
				}
				b.Bytes()[0] = 1
				a.Stats()
				if err := b.Free(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	users.Wait()
	if got := a.Stats(); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}
