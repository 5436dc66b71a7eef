package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// defaultServer is where a server listens, and its clients look for it, when
// nobody says: a socket that only this user can make.
func defaultServer() string {
	if os.Getuid() == 0 {
		return "shm:/run/remora.sock"
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		return "shm:" + filepath.Join(dir, "remora.sock")
	}
	return "shm:" + filepath.Join(os.TempDir(), fmt.Sprintf("remora-%d.sock", os.Getuid()))
}
