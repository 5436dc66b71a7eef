package arena

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// fixedSize are the seals that keep a file's size (A3).
const fixedSize = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW

func allocShared(purpose string, size int, seal Seal) (mem []byte, fd int, err error) {
	fd, err = unix.MemfdCreate("remora "+purpose, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, -1, fmt.Errorf("memfd_create: %w; check ulimit -n and free memory", err)
	}
	if mem, err = sizeAndMap(fd, size); err != nil {
		return nil, -1, errors.Join(err, unix.Close(fd))
	}
	if err = addSeals(fd, seal); err != nil {
		return nil, -1, errors.Join(err, freeShared(mem, fd))
	}
	return mem, fd, nil
}

func sizeAndMap(fd, size int) ([]byte, error) {
	page := int64(os.Getpagesize())
	rounded := (int64(size) + page - 1) / page * page
	if err := unix.Ftruncate(fd, rounded); err != nil {
		return nil, fmt.Errorf("ftruncate to %d bytes: %w; check ulimit -f", rounded, err)
	}
	mem, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mmap: %w; check free memory, the container's memory limit, ulimit -v and vm.max_map_count", err)
	}
	return mem, nil
}

// addSeals comes after the owner's mapping, which FUTURE_WRITE leaves alone (A4).
func addSeals(fd int, seal Seal) error {
	seals := fixedSize | unix.F_SEAL_SEAL
	if seal == ReadOnlyForOthers {
		seals |= unix.F_SEAL_FUTURE_WRITE
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return fmt.Errorf("sealing the memory file: %w; Linux 5.1 or newer is needed", err)
	}
	return nil
}

func freeShared(mem []byte, fd int) error {
	return errors.Join(unix.Munmap(mem), unix.Close(fd))
}

func mapForeign(fd, size int, writable bool) ([]byte, error) {
	if err := checkForeign(fd, size); err != nil {
		return nil, err
	}
	prot := unix.PROT_READ
	if writable {
		prot |= unix.PROT_WRITE
	}
	mem, err := unix.Mmap(fd, 0, size, prot, unix.MAP_SHARED)
	switch {
	case writable && (errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES)):
		return nil, fmt.Errorf("mmap: %w: its owner lets others only read it", err)
	case err != nil:
		return nil, fmt.Errorf("mmap: %w; check free memory, ulimit -v and vm.max_map_count", err)
	}
	return mem, nil
}

// checkForeign proves A3 for a descriptor that a peer sent.
func checkForeign(fd, size int) error {
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return fmt.Errorf("reading its seals: %w: it is not a memory file made by AllocShared", err)
	}
	if seals&fixedSize != fixedSize {
		return fmt.Errorf("its seals %#x lack SHRINK and GROW (%#x): the peer could truncate it under us", seals, fixedSize)
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return fmt.Errorf("fstatfs: %w", err)
	}
	if fs.Type != unix.TMPFS_MAGIC {
		return fmt.Errorf("it is of file system %#x: of huge pages the peer could take one away under us", fs.Type)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("fstat: %w", err)
	}
	if st.Size < int64(size) {
		return fmt.Errorf("the file has only %d bytes", st.Size)
	}
	return nil
}

func freeForeign(mem []byte) error { return unix.Munmap(mem) }

func adviseHuge(mem []byte) bool { return unix.Madvise(mem, unix.MADV_HUGEPAGE) == nil }
