//go:build unix

package verbs

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// dupFile makes a file of its own of a descriptor that belongs to another.
func dupFile(fd int) (*os.File, error) {
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("duplicating descriptor %d: %w", fd, err)
	}
	return os.NewFile(uintptr(dup), "limit"), nil
}
