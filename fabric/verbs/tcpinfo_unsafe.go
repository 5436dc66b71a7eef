//go:build rdma

package verbs

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// tcpInfo has the kernel say how a TCP connection is doing. What it does not
// know is 0. Unlike its kin in package unix it does not allocate.
func tcpInfo(fd uintptr, into *unix.TCPInfo) bool {
	*into = unix.TCPInfo{}
	size := uint32(unsafe.Sizeof(*into))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(into)), uintptr(unsafe.Pointer(&size)), 0)
	return errno == 0
}
