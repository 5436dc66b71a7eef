package remora

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// DefaultAddr returns the address at which a server of this user listens, and clients on the
// same machine look for it, when no other is given. It is a socket for shared memory:
// /run/remora.sock for root, otherwise remora.sock in $XDG_RUNTIME_DIR or, without that, in
// /run/user/UID or, if the machine has none, in the directory remora-UID below that for temporary
// files. That one DefaultAddr makes, for this user alone. If another user has made it first, a
// server does not listen there.
func DefaultAddr() string {
	return defaultAddr(os.Getuid(), os.Getenv("XDG_RUNTIME_DIR"), "/run/user", os.TempDir())
}

func defaultAddr(uid int, runtimeDir, runtimeDirs, tempDir string) string {
	if uid == 0 {
		return "shm:/run/remora.sock"
	}
	dir, number := runtimeDir, strconv.Itoa(uid)
	if dir == "" {
		dir = filepath.Join(runtimeDirs, number)
		if !belongsTo(dir, uid) {
			dir = filepath.Join(tempDir, "remora-"+number)
			_ = os.Mkdir(dir, 0o700) // listening there says why it fails
		}
	}
	return "shm:" + filepath.Join(dir, "remora.sock")
}

// belongsTo reports whether a directory exists and is of a user.
func belongsTo(dir string, uid int) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == uid
}
