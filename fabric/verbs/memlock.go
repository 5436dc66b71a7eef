//go:build rdma

package verbs

import (
	"errors"
	"fmt"
	"syscall"

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
	most, limited := memlock()
	if !limited || pinned+size <= most {
		return nil
	}
	return fmt.Errorf("cannot pin %d bytes: the limit of locked memory is %d, and %d are pinned; %s",
		size, most, pinned, memlockAdvice)
}

// memlock returns how many bytes the process may pin, if that is limited.
func memlock() (most uint64, limited bool) {
	var lim unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &lim)
	return lim.Cur, err == nil && lim.Cur != unix.RLIM_INFINITY && !hasIPCLock()
}

// explainPin says what to do when the kernel refuses to make something whose
// memory it has to pin: regions, and the queues of most adapters.
func explainPin(err error) error {
	if errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EPERM) {
		if most, limited := memlock(); limited {
			return fmt.Errorf("%w: the kernel refuses to pin it, and the limit of locked memory is %d bytes; %s",
				err, most, memlockAdvice)
		}
		return fmt.Errorf("%w: the kernel or the adapter has no room for it", err)
	}
	return err
}

func hasIPCLock() bool {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		return false
	}
	return data[0].Effective&(1<<capIPCLock) != 0
}
