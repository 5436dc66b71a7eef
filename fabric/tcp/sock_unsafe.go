package tcp

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls below never block, so they are raw: the scheduler is not told,
// which saves about a fifth of a poll that finds nothing. A blocking call must
// not be made this way.

// sysRecv reads what a socket has, up to len(b) > 0 bytes. n is 0 at the end of
// the stream.
func sysRecv(fd int, b []byte) (n int, errno syscall.Errno) {
	r, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(r), 0
}

// sysSend writes as much of b, which is not empty, as the socket takes.
func sysSend(fd int, b []byte) (n int, errno syscall.Errno) {
	r, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(r), 0
}

// lastCPU returns the CPU on which the kernel received last for a socket, -1 if it does not know.
func lastCPU(fd int) int {
	cpu, size := int32(-1), uint32(4)
	_, _, errno := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_INCOMING_CPU,
		uintptr(unsafe.Pointer(&cpu)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return -1
	}
	return int(cpu)
}

// epollNow returns how many events are there and fills them in.
func epollNow(ep int, events []unix.EpollEvent) int {
	r, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(ep),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return 0 // interrupted: the events are still there the next time
	}
	return int(r)
}

// sockaddr is the kernel's form of an IPv4 or IPv6 address with port.
type sockaddr struct {
	raw  unix.RawSockaddrInet6 // the larger of the two; holds either
	size uint32
}

// set4 makes a an IPv4 address.
func (a *sockaddr) set4(ip [4]byte, port uint16) {
	in := (*unix.RawSockaddrInet4)(unsafe.Pointer(&a.raw))
	*in = unix.RawSockaddrInet4{Family: unix.AF_INET, Port: swapped(port), Addr: ip}
	a.size = uint32(unsafe.Sizeof(*in))
}

// set6 makes a an IPv6 address.
func (a *sockaddr) set6(ip [16]byte, port uint16) {
	a.raw = unix.RawSockaddrInet6{Family: unix.AF_INET6, Port: swapped(port), Addr: ip}
	a.size = uint32(unsafe.Sizeof(a.raw))
}

// ip returns the address in 16 bytes, IPv4 as ::ffff:a.b.c.d.
func (a *sockaddr) ip() (ip [16]byte) {
	if a.raw.Family == unix.AF_INET {
		in := (*unix.RawSockaddrInet4)(unsafe.Pointer(&a.raw))
		ip[10], ip[11] = 0xff, 0xff
		copy(ip[12:], in.Addr[:])
		return ip
	}
	return a.raw.Addr
}

// swapped is port in network byte order, as it lies in a sockaddr.
func swapped(port uint16) uint16 {
	b := (*[2]byte)(unsafe.Pointer(&port))
	return uint16(b[0])<<8 | uint16(b[1])
}

// sysSendTo sends one datagram.
func sysSendTo(fd int, b []byte, to *sockaddr) syscall.Errno {
	_, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL,
		uintptr(unsafe.Pointer(&to.raw)), uintptr(to.size))
	return errno
}

// sysRecvFrom takes one datagram. n is larger than len(b) when it did not fit.
func sysRecvFrom(fd int, b []byte, from *sockaddr) (n int, errno syscall.Errno) {
	from.size = uint32(unsafe.Sizeof(from.raw))
	r, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_DONTWAIT|unix.MSG_TRUNC,
		uintptr(unsafe.Pointer(&from.raw)), uintptr(unsafe.Pointer(&from.size)))
	if errno != 0 {
		return 0, errno
	}
	return int(r), 0
}
