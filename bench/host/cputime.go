package host

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of /proc/PID/stat, which Linux fixes at 1/100 s for
// programs.
const clockTick = 10 * time.Millisecond

// TimeOf returns what any process has used of all CPUs, as the kernel counts it.
func TimeOf(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	return parseStat(string(b))
}

// parseStat adds the user and system time of a line of /proc/PID/stat. The
// second field is a name in parentheses that may contain anything.
func parseStat(stat string) (time.Duration, error) {
	name := strings.LastIndex(stat, ") ")
	fields := strings.Fields(stat[name+1:])
	if name < 0 || len(fields) < 13 {
		return 0, fmt.Errorf("CPU time: %q is not a line of /proc/PID/stat", stat)
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return 0, fmt.Errorf("CPU time: %w", err)
	}
	return time.Duration(user+system) * clockTick, nil
}
