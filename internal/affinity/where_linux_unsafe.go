package affinity

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hereByKernel is Here where no instruction tells.
func hereByKernel() Place {
	var cpu uint32
	_, _, _ = unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0)
	return At(cpu, uint64(time.Now().UnixMilli()))
}

// Yield lets other threads that wait for the CPU of the caller run, of whatever process. It does not
// give up the caller's place among the threads that run goroutines, unlike runtime.Gosched.
func Yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
