//go:build rdma

package verbs

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const memlockAdvice = "raise the limit with ulimit -l unlimited, LimitMEMLOCK=infinity in a systemd unit, " +
	"--ulimit memlock=-1 for docker run, or give the program CAP_IPC_LOCK"

// capIPCLock is the capability that lifts the limit of locked memory.
const capIPCLock = 14

// checkMemlock says whether size more bytes can be pinned beside those that
// are. Other pinned memory of the process is not known here; the kernel
// counts it too.
func checkMemlock(pinned, size uint64) error {
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &lim); err != nil || lim.Cur == unix.RLIM_INFINITY {
		return nil
	}
	if pinned+size <= lim.Cur || hasIPCLock() {
		return nil
	}
	return fmt.Errorf("%d bytes cannot be pinned beside %d that are: the limit of locked memory is %d; %s",
		size, pinned, lim.Cur, memlockAdvice)
}

func hasIPCLock() bool {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		return false
	}
	return data[0].Effective&(1<<capIPCLock) != 0
}
