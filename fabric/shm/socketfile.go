package shm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
)

// socketFile is a listening socket with its file, guarded by a lock file so
// that a socket left behind by a dead server is replaced and a live one never.
type socketFile struct {
	l    *net.UnixListener
	path string
	lock *os.File
	info os.FileInfo // of the socket file we made
}

func inUse(path string) error {
	return fmt.Errorf("a live server listens at %s; stop it or choose another path: %w", path, fabric.ErrBusy)
}

// foreign is the error of a file that another user made first.
func foreign(path string, owner int) error {
	return fmt.Errorf("%s belongs to user %d, so that user %d cannot listen here; choose another path, or end that user's server and remove the file: %w",
		path, owner, os.Geteuid(), fs.ErrPermission)
}

// ownerOf returns the user that a file belongs to.
func ownerOf(info os.FileInfo) int {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		panic(fmt.Sprintf("fabric: the system describes files by a %T", info.Sys()))
	}
	return int(st.Uid)
}

// checkDirectory refuses the directory of a socket if another user made it where all users
// can make one, as in /tmp.
func checkDirectory(path string) error {
	dir := filepath.Dir(path)
	info, err1 := os.Lstat(dir)
	parent, err2 := os.Stat(filepath.Dir(dir))
	if err1 != nil || err2 != nil || parent.Mode().Perm()&0o002 == 0 {
		return nil // opening the lock file says why it fails
	}
	if owner := ownerOf(info); owner != os.Geteuid() && owner != 0 {
		return foreign(dir, owner)
	}
	return nil
}

func openSocketFile(path string, mode os.FileMode) (*socketFile, error) {
	if err := checkDirectory(path); err != nil {
		return nil, err
	}
	lock, err := lockFile(path)
	if err != nil {
		return nil, err
	}
	f := &socketFile{path: path, lock: lock}
	if err := f.bind(mode); err != nil {
		f.unlock()
		return nil, err
	}
	return f, nil
}

// lockFile takes the lock of a path. A lock file that was removed between
// opening and locking is tried again.
func lockFile(path string) (*os.File, error) {
	for range 100 {
		lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			if info, serr := os.Lstat(path + ".lock"); serr == nil && ownerOf(info) != os.Geteuid() {
				return nil, foreign(path+".lock", ownerOf(info))
			}
			return nil, fmt.Errorf("%w; the directory must exist and be writable", err)
		}
		mine, err1 := lock.Stat()
		if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			_ = lock.Close()
			if err1 == nil && ownerOf(mine) != os.Geteuid() {
				return nil, foreign(path+".lock", ownerOf(mine))
			}
			return nil, inUse(path)
		}
		now, err2 := os.Lstat(path + ".lock")
		if err1 == nil && err2 == nil && os.SameFile(mine, now) {
			return lock, nil
		}
		_ = lock.Close()
	}
	return nil, fmt.Errorf("the lock file of %s keeps changing: %w", path, fabric.ErrBusy)
}

// bind replaces a stale socket and listens.
func (f *socketFile) bind(mode os.FileMode) error {
	if err := removeStale(f.path); err != nil {
		return err
	}
	l, err := listenUnix(f.path, mode)
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	f.l = l
	f.info, err = os.Lstat(f.path)
	return err
}

// listenUnix listens at a path whose file has the mode from the moment it
// exists: Linux gives a socket file the mode of the socket, less the umask.
func listenUnix(path string, mode os.FileMode) (*net.UnixListener, error) {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		if cerr := c.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), uint32(mode.Perm())) }); cerr != nil {
			return cerr
		}
		return err
	}}
	l, err := lc.Listen(context.Background(), "unixpacket", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, mode.Perm()); err != nil {
		_ = l.Close()
		return nil, err
	}
	u, ok := l.(*net.UnixListener)
	if !ok {
		panic(fmt.Sprintf("fabric: listening at a unix socket gave %T", l))
	}
	return u, nil
}

// removeStale removes a socket without a listener.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("%s exists and is not a socket; remove it or choose another path: %w", path, fabric.ErrInvalid)
	}
	if owner := ownerOf(info); owner != os.Geteuid() && os.Geteuid() != 0 {
		return foreign(path, owner)
	}
	dialer := net.Dialer{Timeout: time.Second}
	c, err := dialer.DialContext(context.Background(), "unixpacket", path)
	if err == nil {
		_ = c.Close()
		return inUse(path)
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		return fmt.Errorf("%s is a socket of another kind (%w); remove it or choose another path", path, err)
	}
	return os.Remove(path)
}

func (f *socketFile) close() error {
	err := f.l.Close()
	if now, serr := os.Lstat(f.path); serr == nil && os.SameFile(now, f.info) {
		_ = os.Remove(f.path)
	}
	f.unlock()
	return err
}

// unlock removes the lock file while the lock is held, then gives it up.
func (f *socketFile) unlock() {
	_ = os.Remove(f.lock.Name())
	_ = f.lock.Close()
}
