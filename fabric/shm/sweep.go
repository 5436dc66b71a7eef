package shm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
)

// doorPrefix begins the name of a directory with a door for datagrams, doorName is the
// socket in it.
const (
	doorPrefix = "remora-ud-"
	doorName   = "ud"
)

// makeDoor makes a directory with a socket in it. Another process that clears away what
// the dead have left may take it for such while it is being made; then another one is.
func makeDoor(runtimeDir string) (dir string, file *socketFile, err error) {
	sweepDoors(runtimeDir)
	for range 100 {
		if dir, err = os.MkdirTemp(runtimeDir, doorPrefix); err != nil {
			return "", nil, fmt.Errorf("fabric: directory for datagram sockets: %w", err)
		}
		if file, err = openSocketFile(filepath.Join(dir, doorName), 0o600); err == nil {
			return dir, file, nil
		}
		_ = os.RemoveAll(dir)
		if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, fabric.ErrInvalid) {
			break
		}
	}
	return "", nil, fmt.Errorf("fabric: socket for datagrams: %w", err)
}

// sweepDoors removes doors whose processes were killed. They are those of this user whose
// lock nobody holds. So there are never more of them than processes that have died since
// the last one came.
func sweepDoors(runtimeDir string) {
	entries, err := os.ReadDir(runtimeDir)
	if err != nil {
		return // making a door will say why
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), doorPrefix) && e.IsDir() {
			sweepDoor(filepath.Join(runtimeDir, e.Name()))
		}
	}
}

// sweepDoor removes a door if it is one, and dead. What is in its directory beside
// keeps it.
func sweepDoor(dir string) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return
	}
	path := filepath.Join(dir, doorName)
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err == nil {
		defer func() { _ = lock.Close() }()
		if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
			return // alive
		}
		_ = os.Remove(path)
		_ = os.Remove(lock.Name())
	}
	_ = os.Remove(dir)
}
