package host

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/test/benchtest"
	"github.com/remora-kv/remora/test/cachetest"
)

// The roles of a process beside those that are measured, and of one that starts some and waits
// to be killed.
const (
	roleHelper  = "helper"
	rolePressed = "pressed"
)

func press(ctx context.Context, text string) (*Pressure, Placement, error) {
	s, err := ParseSharing(text)
	if err != nil {
		return nil, Placement{}, err
	}
	p := s.Place(CPUs(), 1, 1)
	argv := benchtest.Self(roleHelper)
	x, err := Press(ctx, &p, os.Getpid(), argv)
	return x, p, err
}

func pressedForever() error {
	if _, _, err := press(context.Background(), ShareBusyBoth); err != nil {
		return err
	}
	if _, err := os.Stdout.WriteString("measuring\n"); err != nil {
		return err
	}
	select {}
}

// masks returns the CPUs of the threads of this process, and how many have each. The first is
// left out: when a goroutine ends to which it is locked, the runtime cannot end it, and lets it
// sleep for good with the mask that it has.
func masks(t *testing.T) map[unix.CPUSet]int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[unix.CPUSet]int)
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			t.Fatal(err)
		}
		var set unix.CPUSet
		if tid != os.Getpid() && unix.SchedGetaffinity(tid, &set) == nil {
			found[set]++
		}
	}
	return found
}

// Neighbours work on their CPUs and nowhere else, this process keeps to its own, and when the
// pressure is off both is over.
func TestPress(t *testing.T) {
	free, all := masks(t), cpuSet(CPUs())
	for _, text := range Sharings() {
		if strings.HasPrefix(text, shareQuota) {
			continue
		}
		x, p, err := press(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		each := p.neighbours()
		if got := benchtest.Children(os.Getpid(), roleHelper); len(got) != len(each) {
			t.Fatalf("%s: neighbours %v, want %d", text, got, len(each))
		}
		for i, n := range x.neighbours {
			cpus := each[i]
			if cpus == nil {
				cpus = CPUs()
			}
			var set unix.CPUSet
			if err := unix.SchedGetaffinity(n.Pid(), &set); err != nil || set != cpuSet(cpus) {
				t.Errorf("%s: neighbour %d may use %v, %v, want %v", text, i, set, err, cpus)
			}
		}
		if got := masks(t); p.confined() && got[cpuSet(p.Client)] == 0 {
			t.Errorf("%s: this process is not confined to %v: %v", text, p.Client, got)
		}
		if len(each) != 0 {
			cachetest.Await(t, "neighbours at work", func() bool { used, err := x.CPU(); return err != nil || used > 0 })
		}
		if err := x.Close(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got := benchtest.Children(os.Getpid(), roleHelper); len(got) != 0 {
			t.Errorf("%s: neighbours %v are left", text, got)
		}
		cachetest.Await(t, text+": threads free again", func() bool {
			now := masks(t)
			return len(now) == len(free) && now[all] != 0
		})
	}
}

// A thread that is pinned stays where it is.
func TestConfineLeavesPinnedThreads(t *testing.T) {
	all := CPUs()
	if len(all) < 2 {
		t.Skip("needs two CPUs")
	}
	pinned, over := make(chan error), make(chan struct{})
	var during unix.CPUSet
	go func() { // on a thread that ends with it, mask and all
		runtime.LockOSThread()
		pinned <- narrow(all[1:2])
		<-over
		pinned <- unix.SchedGetaffinity(0, &during)
	}()
	if err := <-pinned; err != nil {
		t.Fatal(err)
	}
	undo, err := confine(all[:1])
	if err != nil {
		t.Fatal(err)
	}
	close(over)
	if err := errors.Join(<-pinned, undo()); err != nil || during != cpuSet(all[1:2]) {
		t.Errorf("%v: it was moved to %v", err, during)
	}
}

// Killed processes leave no neighbours behind.
func TestNeighboursDoNotOutliveAKilledClient(t *testing.T) {
	benchtest.KillParent(t, rolePressed, min(2, len(CPUs())))
}

// A helper that cannot be is named with what asked for it, and nothing is left.
func TestPressThatFails(t *testing.T) {
	s := sharing(t, ShareBusyBoth)
	p := s.Place(CPUs(), 1, 1)
	argv := benchtest.Self(benchtest.Broken)
	if _, err := Press(t.Context(), &p, os.Getpid(), argv); err == nil || !errors.Is(err, ErrGone) {
		t.Errorf("a broken helper: %v", err)
	}
	if _, err := Press(t.Context(), &p, os.Getpid(), []string{"/nowhere"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a helper that is not there: %v", err)
	}
	if left := benchtest.Children(os.Getpid(), ""); len(left) != 0 {
		t.Errorf("processes %v are left", left)
	}
}
