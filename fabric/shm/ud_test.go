package shm_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/shm"
)

// newDatagrams makes a datagram queue pair on a device with a directory for sockets.
func newDatagrams(t *testing.T, dir string) fabric.QP {
	t.Helper()
	dev, err := shm.New(shm.Config{RuntimeDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	dom, err := dev.NewDomain()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := dev.NewCQ(8)
	if err != nil {
		t.Fatal(err)
	}
	qp, err := dom.NewUD(fabric.QPConfig{Transport: fabric.UD, SendCQ: cq, RecvCQ: cq, SendDepth: 2, RecvDepth: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = qp.Close()
		for _, c := range []interface{ Close() error }{cq, dom, dev} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return qp
}

// A queue pair that only sends has no socket, which a process that is killed would
// leave behind; it has one from when its address is asked for.
func TestSendersOfDatagramsLeaveNoFiles(t *testing.T) {
	dir := t.TempDir()
	files := func() int {
		all, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	qp := newDatagrams(t, dir)
	if n := files(); n != 0 {
		t.Errorf("%d files before anybody asked for the address", n)
	}
	if a, b := qp.Address(), qp.Address(); len(a) == 0 || string(a) != string(b) || files() != 1 {
		t.Errorf("addresses %x and %x, %d files", a, b, files())
	}
	closed := newDatagrams(t, t.TempDir())
	if err := closed.Close(); err != nil || closed.Address() != nil {
		t.Errorf("a closed queue pair has address %x, %v", closed.Address(), err)
	}
}

// What keeps a queue pair from having an address ends it, with advice.
func TestNoDatagramAddress(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	qp := newDatagrams(t, dir)
	if a := qp.Address(); a != nil || qp.State() != fabric.StateError || qp.Err() == nil {
		t.Errorf("address %x, %v, %v", a, qp.State(), qp.Err())
	}
	gone := newDatagrams(t, filepath.Join(dir, "none"))
	if a := gone.Address(); a != nil || !errors.Is(gone.Err(), os.ErrNotExist) {
		t.Errorf("address %x, %v", a, gone.Err())
	}
}
