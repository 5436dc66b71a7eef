package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/remora-kv/remora/test/benchtest"
	"github.com/remora-kv/remora/test/cachetest"
)

// roleLimited is a process that gives itself and another a quota, and waits to be killed.
const roleLimited = "limited"

func limitedForever() error {
	sleeper := exec.Command("/bin/sleep", "3600")
	sleeper.SysProcAttr = processAttr()
	if err := sleeper.Start(); err != nil {
		return err
	}
	argv := benchtest.Self(roleHelper)
	if _, err := limit(context.Background(), map[int]int{os.Getpid(): 50, sleeper.Process.Pid: 20}, argv); err != nil {
		return err
	}
	if _, err := os.Stdout.WriteString("measuring\n"); err != nil {
		return err
	}
	select {}
}

// needsQuotas skips a test where cgroups cannot be written; in CI they can.
func needsQuotas(t *testing.T) cgroup {
	t.Helper()
	g, err := ownCgroup()
	if err == nil {
		dir, _ := g.parent()
		probe := filepath.Join(dir, "remora-bench-probe-"+filepath.Base(t.TempDir()))
		if err = os.Mkdir(probe, 0o755); err == nil {
			err = os.Remove(probe)
		}
	}
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return g
}

// groupDir is where this process puts another.
func groupDir(g cgroup, pid int) string {
	dir, _ := g.parent()
	return filepath.Join(dir, groupName(pid))
}

// groupsOf returns the cgroups that processes whose number pattern matches have made.
func groupsOf(t *testing.T, g cgroup, pattern string) []string {
	t.Helper()
	dir, _ := g.parent()
	found, err := filepath.Glob(filepath.Join(dir, "remora-bench-"+pattern+"-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// ours is the number of this process.
func ours() string { return strconv.Itoa(os.Getpid()) }

// groupOf is the CPU cgroup of a process, as the kernel says.
func groupOf(t *testing.T, pid int) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cgroup"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Of the tests of quotas, a machine runs those of its version of cgroups. In a virtual machine
// that is version 2:
//
//	go test -c -o host.test ./bench/host
//	go run ./test/rocevm/cmd/rocevm run -file host.test:/host.test -- \
//	    'mount -t cgroup2 none /sys/fs/cgroup && CI=true /host.test -test.run Quota'

// A process with a quota gets that much CPU and no more, is where it was afterwards, and nothing
// is left.
func TestQuota(t *testing.T) {
	g := needsQuotas(t)
	argv := benchtest.Self(roleHelper)
	spinner, err := StartPeer[helperTask, helped](t.Context(), nil, argv)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := spinner.Ask(helperTask{Do: doSpin}); err != nil {
		t.Fatal(err)
	}
	before := groupOf(t, os.Getpid())
	x, err := limit(t.Context(), map[int]int{os.Getpid(): 90, spinner.Pid(): 5}, argv)
	if err != nil {
		t.Fatal(err)
	}
	if made := groupsOf(t, g, ours()); len(made) != 2 || groupOf(t, os.Getpid()) == before || groupOf(t, spinner.Pid()) == before {
		t.Errorf("cgroups %v, this process in %s", made, groupOf(t, os.Getpid()))
	}
	cachetest.Await(t, "the kernel to hold it back", func() bool { return heldBack(t, groupDir(g, spinner.Pid())) })
	if err := x.close(); err != nil {
		t.Error(err)
	}
	if left := groupsOf(t, g, ours()); len(left) != 0 || groupOf(t, os.Getpid()) != before || groupOf(t, spinner.Pid()) != before {
		t.Errorf("cgroups %v are left, this process is in %s", left, groupOf(t, os.Getpid()))
	}
	if err := spinner.Close(); err != nil {
		t.Error(err)
	}
}

// heldBack reports whether the kernel has kept the processes of a cgroup from running.
func heldBack(t *testing.T, dir string) bool {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "cpu.stat"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(b), "nr_throttled ")
	if !ok {
		t.Fatalf("no count in %s", b)
	}
	return !strings.HasPrefix(after, "0")
}

// Neither a process that has ended nor a controller that is killed leaves cgroups behind.
func TestQuotasOfProcessesThatEnd(t *testing.T) {
	g := needsQuotas(t)
	p := shell(t, "exec sleep 600")
	argv := benchtest.Self(roleHelper)
	x, err := limit(t.Context(), map[int]int{p.Pid(): 10}, argv)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Close(), x.close()); err != nil || len(groupsOf(t, g, ours())) != 0 {
		t.Errorf("%v, cgroups %v are left", err, groupsOf(t, g, ours()))
	}
	killed := benchtest.KillParent(t, roleLimited, 2)
	if left := groupsOf(t, g, strconv.Itoa(killed)); len(left) != 0 {
		t.Errorf("cgroups %v are left of a process that was killed", left)
	}
}

// Where cgroups cannot be had the user learns what to do, and nothing is left.
func TestQuotaThatCannotBe(t *testing.T) {
	g := needsQuotas(t)
	argv := benchtest.Self(roleHelper)
	const nobody = 1 << 22 // no process has this number
	_, err := limit(t.Context(), map[int]int{nobody: 50}, argv)
	if err == nil || !strings.Contains(err.Error(), "as root") {
		t.Errorf("of a process that is not there: %v", err)
	}
	if _, err := limit(t.Context(), map[int]int{os.Getpid(): 50}, []string{"/nowhere"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a guard: %v", err)
	}
	argv = benchtest.Self(benchtest.Broken)
	if _, err := limit(t.Context(), map[int]int{os.Getpid(): 50}, argv); !errors.Is(err, ErrGone) {
		t.Errorf("with a broken guard: %v", err)
	}
	if left := groupsOf(t, g, ours()); len(left) != 0 {
		t.Errorf("cgroups %v are left", left)
	}
}
