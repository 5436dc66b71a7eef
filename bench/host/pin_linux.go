package host

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/internal/affinity"
)

// narrow lets this thread, and what it starts, run on nothing but cpus.
func narrow(cpus []int) error {
	allowed, err := affinity.Allowed()
	if err != nil {
		return err
	}
	for _, cpu := range cpus {
		if !slices.Contains(allowed, cpu) {
			return fmt.Errorf("CPU %d is not one of %v, which this process may use", cpu, allowed)
		}
	}
	set := cpuSet(cpus)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pinning to CPUs %v: %w", cpus, err)
	}
	return nil
}

func cpuSet(cpus []int) (set unix.CPUSet) {
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	return set
}

// confine lets this process, and what it starts, run on nothing but cpus, until undo. Threads
// that are pinned stay where they are.
func confine(cpus []int) (undo func() error, err error) {
	allowed, err := affinity.Allowed()
	if err != nil {
		return nil, err
	}
	all, few := cpuSet(allowed), cpuSet(cpus)
	undo = func() error { return moveThreads(few, all) }
	if err := moveThreads(all, few); err != nil {
		return nil, errors.Join(err, undo())
	}
	return undo, nil
}

// moveThreads gives the threads of this process that may run on from the CPUs in to instead:
// those too that others start meanwhile, which have the CPUs of the one that starts them.
func moveThreads(from, to unix.CPUSet) error {
	seen := make(map[int]bool)
	for again := true; again; {
		again = false
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("finding the threads of this process: %w", err)
		}
		for _, task := range tasks {
			tid, err := strconv.Atoi(task.Name())
			if err != nil || seen[tid] {
				continue
			}
			seen[tid], again = true, true
			var now unix.CPUSet
			if unix.SchedGetaffinity(tid, &now) != nil || now != from {
				continue // it has ended, or is pinned
			}
			if err := unix.SchedSetaffinity(tid, &to); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("moving the threads of this process to other CPUs: %w", err)
			}
		}
	}
	return nil
}
