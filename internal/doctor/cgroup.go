package doctor

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// limits are how a controller of cgroups states its limit in a directory, in both versions
// of cgroups.
type limits struct {
	controller string
	v2, v1     func(h *Host, dir string) (limit float64, ok bool)
}

// smallest returns the smallest limit of the cgroups that the process is in and the directory
// of that, and 0 when there is none.
func (l *limits) smallest(h *Host) (least float64, where string) {
	text, _ := h.read("proc/self/cgroup")
	for line := range strings.SplitSeq(text, "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			continue
		}
		read, roots := l.v2, []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}
		if parts[0] != "0" {
			if !slices.Contains(strings.Split(parts[1], ","), l.controller) {
				continue
			}
			read, roots = l.v1, []string{"sys/fs/cgroup/" + parts[1], "sys/fs/cgroup/" + l.controller}
		}
		for _, root := range roots {
			for dir := path.Clean("/" + parts[2]); ; dir = path.Dir(dir) {
				if q, ok := read(h, path.Join(root, dir)); ok && (least == 0 || q < least) {
					least, where = q, "/"+path.Join(root, dir)
				}
				if dir == "/" {
					break
				}
			}
		}
	}
	return least, where
}

var cpuLimits = limits{
	controller: "cpu",
	v2: func(h *Host, dir string) (float64, bool) {
		text, _ := h.read(dir + "/cpu.max")
		limit, period, ok := strings.Cut(text, " ")
		if !ok {
			return 0, false
		}
		return ratio(limit, period)
	},
	v1: func(h *Host, dir string) (float64, bool) {
		limit, _ := h.read(dir + "/cpu.cfs_quota_us")
		period, _ := h.read(dir + "/cpu.cfs_period_us")
		return ratio(limit, period)
	},
}

var memoryLimits = limits{
	controller: "memory",
	v2: func(h *Host, dir string) (float64, bool) {
		limit, _ := h.read(dir + "/memory.max")
		return ratio(limit, "1")
	},
	v1: func(h *Host, dir string) (float64, bool) {
		limit, _ := h.read(dir + "/memory.limit_in_bytes")
		return ratio(limit, "1")
	},
}

// ratio divides two numbers; "max" and -1 are no limit.
func ratio(limit, period string) (float64, bool) {
	l, err1 := strconv.ParseFloat(limit, 64)
	per, err2 := strconv.ParseFloat(period, 64)
	if err1 != nil || err2 != nil || l <= 0 || per <= 0 {
		return 0, false
	}
	return l / per, true
}

// Memory returns how much memory the process can have, in bytes, and what limits it: the
// memory of the machine, or the directory of a cgroup. It returns 0 if that is not known.
func (h *Host) Memory() (bytes uint64, limit string) {
	kib, _, _ := strings.Cut(h.field("proc/meminfo", "MemTotal"), " ")
	total, err := strconv.ParseUint(kib, 10, 54)
	if err == nil {
		bytes, limit = total<<10, "the memory of this machine"
	}
	// Without a limit version 1 has the largest number of pages.
	if least, where := memoryLimits.smallest(h); least != 0 && least < 1<<62 && (bytes == 0 || least < float64(bytes)) {
		bytes, limit = uint64(least), where
	}
	return bytes, limit
}
