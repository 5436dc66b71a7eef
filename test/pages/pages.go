// Package pages stops a function exactly before it touches a page of memory, every time, so
// that a test sees what others would see if it were preempted there: in which order it reads
// and writes memory that it shares with peers without a lock.
package pages

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/test/scale"
)

// Size is the length of a page.
var Size = os.Getpagesize()

// New returns n pages of zeroed memory, which are freed at the end of the test. Race
// builds access memory by code that cannot be stopped: the file of the test has the tag !race.
func New(tb testing.TB, n int) []byte {
	tb.Helper()
	if scale.Race {
		tb.Fatal("race builds cannot be stopped: the file of this test needs the tag !race")
	}
	mem, err := unix.Mmap(-1, 0, n*Size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = unix.Munmap(mem) })
	return mem
}

// StopsAtWrite runs f, which ends before it writes to the page of memory from New that
// contains mem[at]. StopsAtWrite fails the test if f does not do that.
func StopsAtWrite(tb testing.TB, mem []byte, at int, f func()) {
	tb.Helper()
	stopsAt(tb, mem, at, unix.PROT_READ, f)
}

// StopsAtAccess is StopsAtWrite for reads as well as writes.
func StopsAtAccess(tb testing.TB, mem []byte, at int, f func()) {
	tb.Helper()
	stopsAt(tb, mem, at, unix.PROT_NONE, f)
}

func stopsAt(tb testing.TB, mem []byte, at, allowed int, f func()) {
	tb.Helper()
	page := mem[at/Size*Size:][:Size]
	if err := unix.Mprotect(page, allowed); err != nil {
		tb.Fatal(err)
	}
	stopped := stops(f)
	if err := unix.Mprotect(page, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		tb.Fatal(err)
	}
	if !stopped {
		tb.Fatalf("nothing touches the page of byte %d", at)
	}
}

// stops runs f and reports whether a page fault ended it.
func stops(f func()) (stopped bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		if _, stopped = r.(runtime.Error); r != nil && !stopped {
			panic(r)
		}
	}()
	f()
	return false
}
