package shm

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxGroups is how many groups a process can have on Linux.
const maxGroups = 1 << 16

// groups returns the supplementary groups of who is at the other end, as the kernel knows them.
func (s socket) groups() ([]int, error) {
	rc, err := s.c.SyscallConn()
	if err != nil {
		return nil, err
	}
	var gids []uint32
	errno := unix.ERANGE
	for n := 64; errno == unix.ERANGE && n <= maxGroups; n *= 4 {
		gids = make([]uint32, n)
		size := uint32(4 * n)
		err = rc.Control(func(fd uintptr) {
			_, _, errno = unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_PEERGROUPS,
				uintptr(unsafe.Pointer(unsafe.SliceData(gids))), uintptr(unsafe.Pointer(&size)), 0)
		})
		if err != nil {
			return nil, err
		}
		gids = gids[:min(int(size/4), n)]
	}
	if errno != 0 {
		return nil, fmt.Errorf("groups of the peer: %w", errno)
	}
	all := make([]int, len(gids))
	for i, gid := range gids {
		all[i] = int(gid)
	}
	return all, nil
}
