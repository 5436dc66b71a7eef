package base_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric/internal/base"
)

// TestWakePipeThatPeersMadeBlock: every peer shares the open file of our pipe and
// can make it block and fill it. Waking ourselves does not wait.
func TestWakePipeThatPeersMadeBlock(t *testing.T) {
	p, err := base.NewWakePipe()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	fd, err := p.Share()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	for range 100_000 { // fill it, then make it block
		if _, err := unix.Write(fd, make([]byte, 4096)); err != nil {
			break
		}
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, 0); err != nil {
		t.Fatal(err)
	}
	p.Wake()
	p.Drain()
	p.Wake()
}

// TestWakePipeDoesNotAllocate: a wake-up is on the data path of a thread that sleeps.
func TestWakePipeDoesNotAllocate(t *testing.T) {
	p, err := base.NewWakePipe()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if n := testing.AllocsPerRun(100, func() { p.Wake(); p.Drain() }); n != 0 {
		t.Errorf("%v allocations for each wake-up", n)
	}
}
