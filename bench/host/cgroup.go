package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// cgroup is where the CPU cgroup of this process is.
type cgroup struct {
	dir   string // of the cgroup
	mount string // of the topmost that is to be seen
	v2    bool
}

// ownCgroup finds the CPU cgroup of this process.
func ownCgroup() (cgroup, error) {
	self, err := os.ReadFile("/proc/self/cgroup")
	if errors.Is(err, fs.ErrNotExist) {
		err = errNoCgroup
	}
	if err != nil {
		return cgroup{}, err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return cgroup{}, err
	}
	return parseCgroup(string(self), string(mounts))
}

// errNoCgroup is what there is where nothing limits CPUs.
var errNoCgroup = errors.New("no cgroup file system with the controller cpu is mounted")

// parseCgroup reads /proc/self/cgroup and /proc/self/mountinfo. The controller cpu is in a
// hierarchy of version 1 where there is one, else in that of version 2.
func parseCgroup(self, mounts string) (cgroup, error) {
	var path string
	g := cgroup{v2: true}
	for line := range strings.Lines(self) {
		number, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, at, ok := strings.Cut(rest, ":")
		switch {
		case !ok:
		case slices.Contains(strings.Split(controllers, ","), "cpu"):
			path, g.v2 = at, false
		case number == "0" && path == "":
			path = at
		}
	}
	for line := range strings.Lines(mounts) {
		// number, parent, device, root, mount point, options, ..., -, type, source, super options
		left, right, ok := strings.Cut(line, " - ")
		fields, more := strings.Fields(left), strings.Fields(right)
		if !ok || len(fields) < 5 || len(more) < 3 || path == "" {
			continue
		}
		v1 := more[0] == "cgroup" && slices.Contains(strings.Split(more[2], ","), "cpu")
		if g.v2 && more[0] != "cgroup2" || !g.v2 && !v1 {
			continue
		}
		g.mount = fields[4]
		below, ok := strings.CutPrefix(path, strings.TrimSuffix(fields[3], "/"))
		if !ok || strings.Contains(below, "..") {
			below = "" // it is outside of what is mounted
		}
		g.dir = filepath.Join(g.mount, below)
		return g, nil
	}
	return cgroup{}, errNoCgroup
}

// The files of a cgroup.
const (
	groupMembers  = "cgroup.procs"
	groupSubtree  = "cgroup.subtree_control" // what its children may limit, v2
	groupQuotaV2  = "cpu.max"
	groupQuotaV1  = "cpu.cfs_quota_us"
	groupPeriodV1 = "cpu.cfs_period_us"
)

// parent returns a cgroup whose children can limit CPUs. In version 2 no cgroup but the topmost
// can have both such children and processes: it is the nearest above this process that allows
// it. Where none does, it is the topmost, and the file that says so is returned.
func (g *cgroup) parent() (dir, closed string) {
	if !g.v2 {
		return g.dir, ""
	}
	for dir = g.dir; ; dir = filepath.Dir(dir) {
		b, err := os.ReadFile(filepath.Join(dir, groupSubtree))
		if err == nil && slices.Contains(strings.Fields(string(b)), "cpu") {
			return dir, ""
		}
		if dir == g.mount || dir == "/" || dir == "." {
			return g.mount, filepath.Join(g.mount, groupSubtree)
		}
	}
}

// quotaPeriod is the time in which a quota is used up, and counts anew: the kernel's own choice.
const quotaPeriod = 100 * time.Millisecond

// setQuota limits a cgroup to a percentage of one CPU.
func (g *cgroup) setQuota(dir string, percent int) error {
	period := quotaPeriod.Microseconds()
	quota := period * int64(percent) / 100
	if g.v2 {
		return writeGroup(filepath.Join(dir, groupQuotaV2), fmt.Sprint(quota, " ", period))
	}
	return errors.Join(
		writeGroup(filepath.Join(dir, groupPeriodV1), fmt.Sprint(period)),
		writeGroup(filepath.Join(dir, groupQuotaV1), fmt.Sprint(quota)))
}

// join moves a process into a cgroup, with all of its threads.
func join(dir string, pid int) error {
	return writeGroup(filepath.Join(dir, groupMembers), fmt.Sprint(pid))
}

// writeGroup writes to a file of a cgroup, which must be there.
func writeGroup(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// groupPlan is what is made for a trial, and is to be removed after it.
type groupPlan struct {
	Dirs []string
	// Closed, when not empty, is the groupSubtree file in which cpu is enabled for them.
	Closed string `json:",omitempty"`
}

// removeTimeout is how long the processes of a cgroup may take to leave it.
const removeTimeout = 20 * time.Second

// remove undoes a plan as soon as nobody is in its cgroups. What is not there is no error.
func (p *groupPlan) remove() error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(removeTimeout)
	for {
		errs := make([]error, 0, len(p.Dirs))
		for _, dir := range p.Dirs {
			if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
		err := errors.Join(errs...)
		if err == nil {
			break
		}
		select {
		case <-tick.C:
		case <-late:
			return fmt.Errorf("a cgroup is left behind: %w", err)
		}
	}
	if p.Closed == "" {
		return nil
	}
	if others, err := filepath.Glob(filepath.Join(filepath.Dir(p.Closed), "remora-bench-*")); err != nil || len(others) != 0 {
		return err // another run relies on it
	}
	return writeGroup(p.Closed, "-cpu")
}
