package shm

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/remora-kv/remora/fabric"
)

// childGram makes a datagram queue pair that can be sent to, and stays until it is
// killed.
func childGram(p *parent) error {
	var k task
	if err := p.in.Decode(&k); err != nil {
		return err
	}
	d, err := New(Config{RuntimeDir: k.Path})
	if err != nil {
		return err
	}
	if err := reachable(d); err != nil {
		return err
	}
	if err := p.out.Encode(answer{Ready: true}); err != nil {
		return err
	}
	p.stay()
	return nil
}

// reachable makes a datagram queue pair with an address.
func reachable(d *Device) error {
	dom, err := d.NewDomain()
	if err != nil {
		return err
	}
	cq, err := d.NewCQ(8)
	if err != nil {
		return err
	}
	q, err := dom.NewUD(fabric.QPConfig{Transport: fabric.UD, SendCQ: cq, RecvCQ: cq, SendDepth: 1, RecvDepth: 1})
	if err != nil {
		return err
	}
	if q.Address() == nil {
		return q.Err()
	}
	return nil
}

// socketDirs counts what is in a directory for sockets.
func socketDirs(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// Processes with datagram queue pairs are killed again and again: each newcomer clears
// away what those before it have left behind, and nothing of the living.
func TestSocketsOfTheDeadAreSwept(t *testing.T) {
	dir := t.TempDir()
	living, err := New(Config{RuntimeDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = living.Close() }()
	if err := reachable(living); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		c := startChild(t, "gram", nil)
		c.tell(task{Path: dir})
		c.hear()
		if n := socketDirs(t, dir); n != 2 {
			t.Errorf("%d sockets of two processes", n)
		}
		c.kill()
		_ = c.w.Close()
	}
	if n := socketDirs(t, dir); n != 2 {
		t.Errorf("%d sockets of one process and a dead one", n)
	}
	if _, err := os.Stat(living.grams.file.path); err != nil {
		t.Errorf("the socket of the living: %v", err)
	}
	// A device that only listens clears away, too.
	other, err := New(Config{RuntimeDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	if _, err := other.Listen(fabric.Addr{Fabric: "shm", Name: filepath.Join(t.TempDir(), "s")}, fabric.ListenConfig{}); err != nil {
		t.Fatal(err)
	}
	if n := socketDirs(t, dir); n != 1 {
		t.Errorf("%d sockets of one process", n)
	}
}

// Sockets that another process is making, or died while making, and files that are no sockets.
func TestSweepIsCareful(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	mkdir := func(name string) {
		if err := os.Mkdir(at(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name string) {
		if err := os.WriteFile(at(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mkdir(udPrefix + "empty")
	mkdir(udPrefix + "half")
	write(udPrefix + "half/ud.lock")
	mkdir(udPrefix + "strange")
	write(udPrefix + "strange/ud.lock")
	write(udPrefix + "strange/diary")
	mkdir("elsewhere")
	write("elsewhere/ud.lock")
	if err := os.Symlink(at("elsewhere"), at(udPrefix+"link")); err != nil {
		t.Fatal(err)
	}
	write(udPrefix + "file")
	sweepUDSockets(dir)
	for name, want := range map[string]bool{
		udPrefix + "empty": false, udPrefix + "half": false, udPrefix + "strange/diary": true,
		udPrefix + "link": true, udPrefix + "file": true, "elsewhere/ud.lock": true,
	} {
		if _, err := os.Lstat(at(name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Processes that arrive and processes that clear away do not hinder each other.
func TestSweepWhileSocketsAreMade(t *testing.T) {
	dir := t.TempDir()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				sweepUDSockets(dir)
			}
		}
	}()
	for range 200 {
		d, err := New(Config{RuntimeDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if err := reachable(d); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(d.grams.file.path); err != nil {
			t.Error(err)
		}
		_ = d.Close()
	}
	close(stop)
	<-stopped
	if n := socketDirs(t, dir); n != 0 {
		t.Errorf("%d sockets are left", n)
	}
}
