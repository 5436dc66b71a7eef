package shm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
)

// udPrefix begins the name of a directory with a socket for datagrams, udName is the
// socket in it.
const (
	udPrefix = "remora-ud-"
	udName   = "ud"
)

// makeUDSocket makes a directory with a socket in it. Another process that sweeps may remove
// the directory while it is being made; then makeUDSocket makes another one.
func makeUDSocket(runtimeDir string) (dir string, file *socketFile, err error) {
	sweepUDSockets(runtimeDir)
	for range 100 {
		if dir, err = os.MkdirTemp(runtimeDir, udPrefix); err != nil {
			return "", nil, fmt.Errorf("fabric: directory for datagram sockets: %w", err)
		}
		if file, err = openSocketFile(filepath.Join(dir, udName), 0o600); err == nil {
			return dir, file, nil
		}
		_ = os.RemoveAll(dir)
		if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, fabric.ErrBusy) {
			break
		}
	}
	return "", nil, fmt.Errorf("fabric: socket for datagrams: %w", err)
}

// sweepUDSockets removes sockets whose processes were killed. They are those of this user whose
// lock no process holds. So there are never more of them than processes that have died since
// the last one came.
func sweepUDSockets(runtimeDir string) {
	entries, err := os.ReadDir(runtimeDir)
	if err != nil {
		return // making a socket will say why
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), udPrefix) && e.IsDir() {
			sweepUDSocket(filepath.Join(runtimeDir, e.Name()))
		}
	}
}

// sweepUDSocket removes a directory with a socket that no process listens at. Any other file in it
// keeps it.
func sweepUDSocket(dir string) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || ownerOf(info) != os.Geteuid() {
		return
	}
	path := filepath.Join(dir, udName)
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
