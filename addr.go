package remora

import (
	"fmt"
	"os"
	"path/filepath"
)

// DefaultAddr returns the address at which a server of this user listens, and clients on the
// same machine look for it, when no other is given. It is a socket for shared memory:
// /run/remora.sock for root, otherwise remora.sock in $XDG_RUNTIME_DIR or, without that, one
// with the user's number in the directory for temporary files.
func DefaultAddr() string {
	return defaultAddr(os.Getuid(), os.Getenv("XDG_RUNTIME_DIR"), os.TempDir())
}

func defaultAddr(uid int, runtimeDir, tempDir string) string {
	switch {
	case uid == 0:
		return "shm:/run/remora.sock"
	case runtimeDir != "":
		return "shm:" + filepath.Join(runtimeDir, "remora.sock")
	}
	return "shm:" + filepath.Join(tempDir, fmt.Sprintf("remora-%d.sock", uid))
}
