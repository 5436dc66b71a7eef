//go:build linux

package fabrictest

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
)

// misdeed is a case that misbehaves, and what the suite makes of it.
type misdeed struct {
	name            string
	run             func(t *trial)
	failed, skipped bool
	says            string
}

// failures end by themselves, in one way or another.
func failures() []misdeed {
	return []misdeed{
		{name: "passes", run: warmUp},
		{name: "fails", failed: true, says: "just so", run: func(t *trial) { t.Fatalf("just so") }},
		{name: "panics", failed: true, says: "panic: just so", run: func(*trial) { panic("just so") }},
		{
			name: "fails-in-a-goroutine", failed: true, says: "just so",
			run: func(t *trial) {
				c := t.crew()
				c.run(func() { t.Fatalf("just so") })
				t.await("nothing", func() bool { return false })
			},
		},
		{
			name: "skips-in-a-goroutine", skipped: true, says: "not supported",
			run: func(t *trial) {
				c := t.crew()
				c.run(func() { t.must("Post", fabric.ErrUnsupported) })
				c.join()
			},
		},
	}
}

// leftovers leave something behind until the test is over.
func leftovers(t *testing.T) []misdeed {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	return []misdeed{
		{name: "hangs", failed: true, says: "leftovers", run: func(*trial) { <-release }},
		{
			name: "leaks-goroutine", failed: true, says: "found unexpected goroutines",
			run: func(*trial) { go func() { <-release }() },
		},
		{
			name: "leaks-file", failed: true, says: "file descriptors are still open",
			run: func(c *trial) {
				f, err := os.Open(os.DevNull)
				c.must("Open", err)
				t.Cleanup(func() { _ = f.Close() })
			},
		},
		{
			name: "leaks-mapping", failed: true, says: "mappings of memory files are left",
			run: func(c *trial) {
				fd, err := unix.MemfdCreate("fabrictest", unix.MFD_CLOEXEC)
				c.must("MemfdCreate", err)
				c.must("Ftruncate", unix.Ftruncate(fd, 4096))
				mapped, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
				c.must("Mmap", err)
				c.must("Close", unix.Close(fd))
				t.Cleanup(func() { _ = unix.Munmap(mapped) })
			},
		},
		{
			name: "leaves-region", failed: true, says: "in use",
			run: func(c *trial) {
				_, err := c.domain(c.world.A).Alloc("forgotten", 64, 0)
				c.must("Alloc", err)
			},
		},
	}
}

// TestSupervision runs cases that misbehave in every way that the suite must
// survive.
func TestSupervision(t *testing.T) {
	for _, m := range slices.Concat(failures(), leftovers(t)) {
		t.Run(m.name, func(t *testing.T) {
			r := &recorder{TB: t}
			opt := Options{}
			if strings.HasPrefix(m.name, "leaks-") {
				opt.patience = 100 * time.Millisecond
			}
			if m.name == "hangs" {
				opt.Watchdog = 100 * time.Millisecond
			}
			got := runCase(r, &testCase{name: m.name, rule: "a rule", run: m.run}, loopWorld, opt, true)
			if (got == caseHung) != (m.name == "hangs") || r.failed != m.failed || r.skipped != m.skipped ||
				!strings.Contains(r.log.String(), m.says) {
				t.Errorf("outcome %v, failed %v, skipped %v, log:\n%s", got, r.failed, r.skipped, r.log.String())
			}
		})
	}
}

// TestModest runs the suite on devices that have neither UC nor UD nor
// atomics: what needs them is skipped, all else passes.
func TestModest(t *testing.T) {
	modest := &flaw{limits: func(l *fabric.Limits) { l.UC, l.UD, l.Atomics = false, false, false }}
	skipped := 0
	for _, c := range allCases() {
		r := &recorder{TB: t}
		runCase(r, c, func(tb testing.TB) *World { return flawed(loopWorld(tb), modest, true) }, Options{}, true)
		parts := strings.Split(c.name, "/")
		needs := slices.Contains(parts, "uc") || slices.Contains(parts, "ud")
		if r.failed || needs && !r.skipped {
			t.Errorf("%s: failed %v, skipped %v\n%s", c.name, r.failed, r.skipped, r.log.String())
		}
		if r.skipped {
			skipped++
		}
	}
	if skipped == 0 || skipped > len(allCases())/2 {
		t.Errorf("%d of %d cases were skipped", skipped, len(allCases()))
	}
}
