package affinity

import (
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxCPU is one more than the largest CPU number that a mask can hold.
const maxCPU = 1024

// Allowed returns the CPUs that this process may run on, in ascending order.
// Pinned threads do not narrow it: it is the union over all threads, and the
// runtime always has some that are not pinned.
func Allowed() ([]int, error) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return nil, fmt.Errorf("affinity: reading the CPUs of this process: %w", err)
	}
	tasks, _ := os.ReadDir("/proc/self/task") // without /proc this thread must do
	for _, task := range tasks {
		var set unix.CPUSet
		tid, err := strconv.Atoi(task.Name())
		if err != nil || unix.SchedGetaffinity(tid, &set) != nil {
			continue // the thread has ended meanwhile
		}
		for i := range all {
			all[i] |= set[i]
		}
	}
	cpus := make([]int, 0, all.Count())
	for cpu := range maxCPU {
		if all.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// Pin locks the calling goroutine to its OS thread and that thread to one CPU,
// until the goroutine calls unpin, which restores what was before. On an error
// nothing has changed.
func Pin(cpu int) (unpin func(), err error) {
	if cpu < 0 || cpu >= maxCPU {
		return nil, fmt.Errorf("affinity: CPU %d is not between 0 and %d", cpu, maxCPU-1)
	}
	runtime.LockOSThread()
	var before, want unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("affinity: reading the CPUs of this thread: %w", err)
	}
	want.Set(cpu)
	if err := unix.SchedSetaffinity(0, &want); err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("affinity: pinning to CPU %d: %w; %s", cpu, err, allowedHint())
	}
	return func() {
		if unix.SchedSetaffinity(0, &before) != nil {
			return // stay locked: a thread with a foreign mask must not be reused
		}
		runtime.UnlockOSThread()
	}, nil
}

func allowedHint() string {
	cpus, err := Allowed()
	if err != nil {
		return "check taskset -p and the container's cpuset"
	}
	return fmt.Sprintf("this process may use %v, see taskset -p and the container's cpuset", cpus)
}
