package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// groups are the cgroups of a trial, each of which holds one process.
type groups struct {
	cgroup
	guard *Peer[helperTask, helped]
	pids  []int // that have been moved
}

// limit gives each process a quota, in percent of one CPU; 0: none. argv is that of a
// helper, which removes the cgroups when this process is gone or says so, whichever is first.
func limit(ctx context.Context, quotas map[int]int, argv []string) (*groups, error) {
	g := &groups{}
	err := g.begin(ctx, quotas, argv)
	if err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

func (g *groups) begin(ctx context.Context, quotas map[int]int, argv []string) (err error) {
	if g.cgroup, err = ownCgroup(); err != nil {
		return needsCgroups(err)
	}
	parent, closed := g.parent()
	plan := groupPlan{Closed: closed}
	dirs := make(map[int]string)
	for pid, percent := range quotas {
		if percent != 0 {
			dirs[pid] = filepath.Join(parent, groupName(pid))
			plan.Dirs = append(plan.Dirs, dirs[pid])
		}
	}
	if err := g.watch(ctx, &plan, argv); err != nil {
		return err
	}
	if closed != "" {
		if err := writeGroup(closed, "+cpu"); err != nil {
			return needsCgroups(err)
		}
	}
	for pid, dir := range dirs {
		if err := g.add(pid, dir, quotas[pid]); err != nil {
			return needsCgroups(err)
		}
	}
	return nil
}

// groupName is that of the cgroup in which this process puts another.
func groupName(pid int) string { return fmt.Sprintf("remora-bench-%d-%d", os.Getpid(), pid) }

// needsCgroups says what to do where quotas cannot be had.
func needsCgroups(err error) error {
	return fmt.Errorf("%w; a quota needs CPU cgroups that bench may write: run it as root, in a container with --privileged --cgroupns=host, or use another placement", err)
}

// add makes a cgroup with a quota, and moves a process there.
func (g *groups) add(pid int, dir string, percent int) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := g.setQuota(dir, percent); err != nil {
		return err
	}
	if err := join(dir, pid); err != nil {
		return err
	}
	g.pids = append(g.pids, pid)
	return nil
}

// watch starts the guard, which knows of the cgroups before there are any.
func (g *groups) watch(ctx context.Context, plan *groupPlan, argv []string) (err error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), argv[0], argv[1:]...) // its processes end after ctx
	cmd.SysProcAttr = guardAttr()
	if g.guard, err = startPeer[helperTask, helped](cmd, nil); err != nil {
		return err
	}
	_, err = g.guard.Ask(helperTask{Do: doGuard, Groups: plan})
	return err
}

// close takes the quotas from all processes that are still there, and removes the cgroups.
func (g *groups) close() error {
	var errs []error
	for _, pid := range g.pids {
		if err := join(g.dir, pid); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, err)
		}
	}
	if g.guard != nil {
		errs = append(errs, g.guard.Close())
	}
	return errors.Join(errs...)
}
