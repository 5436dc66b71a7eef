package doctor

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/internal/affinity"
)

// system fills in what the kernel says.
func (h *Host) system() {
	h.TryMemfd = tryMemfd
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &lim); err == nil {
		h.Memlock = lim.Cur
	}
	h.CPUs, _ = affinity.Allowed() // the probe says when there are none (D2)
}

// tryMemfd makes a memory file as the shm provider does: mapped by its owner,
// of a fixed size, and never again writable through any other mapping.
func tryMemfd() error {
	const size = 4096
	fd, err := unix.MemfdCreate("remora-doctor", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return fmt.Errorf("memfd_create: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, size); err != nil {
		return fmt.Errorf("ftruncate: %w", err)
	}
	mine, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("mmap: %w", err)
	}
	defer func() { _ = unix.Munmap(mine) }()
	const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_FUTURE_WRITE | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return fmt.Errorf("F_ADD_SEALS with F_SEAL_FUTURE_WRITE (Linux 5.1): %w", err)
	}
	if theirs, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
		_ = unix.Munmap(theirs)
		return fmt.Errorf("a sealed memory file can still be mapped writable")
	}
	theirs, err := unix.Mmap(fd, 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("mmap of a sealed memory file: %w", err)
	}
	defer func() { _ = unix.Munmap(theirs) }()
	mine[0] = 42
	if theirs[0] != 42 {
		return fmt.Errorf("two mappings of a memory file differ")
	}
	return nil
}
