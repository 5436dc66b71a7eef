package arena

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/test/scale"
)

func mustShare(t *testing.T, a *Arena, size int, seal Seal) *Block {
	t.Helper()
	b, err := a.AllocShared("shared", size, seal)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustFree(t, b) })
	return b
}

func TestSharedIsZeroedSealedAndCounted(t *testing.T) {
	a := New()
	const size = 5000
	for seal, want := range map[Seal]int{
		ReadWriteForOthers: unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL,
		ReadOnlyForOthers:  unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL | unix.F_SEAL_FUTURE_WRITE,
	} {
		b := mustShare(t, a, size, seal)
		if got, err := unix.FcntlInt(uintptr(b.FD()), unix.F_GET_SEALS, 0); err != nil || got != want {
			t.Errorf("seal %d: seals %#x, %v; want %#x", seal, got, err, want)
		}
		mem := b.Bytes()
		if len(mem) != size || cap(mem) != size {
			t.Errorf("len %d, cap %d, want %d", len(mem), cap(mem), size)
		}
		for i := range mem {
			if mem[i] != 0 {
				t.Fatalf("byte %d is %#x, want 0", i, mem[i])
			}
			mem[i] = 1
		}
		if flags, err := unix.FcntlInt(uintptr(b.FD()), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("descriptor flags %#x, %v: a child would inherit it", flags, err)
		}
	}
	if got := a.Stats(); len(got) != 1 || got[0].Blocks != 2 || got[0].Bytes != 2*size {
		t.Errorf("stats %v", got)
	}
}

func TestMapSeesTheOwnersWrites(t *testing.T) {
	a := New()
	owner := mustShare(t, a, 4096, ReadWriteForOthers)
	other, err := a.Map("foreign", owner.FD(), 4096, true)
	if err != nil {
		t.Fatal(err)
	}
	owner.Bytes()[7] = 42
	other.Bytes()[8] = 43
	if got := other.Bytes()[7]; got != 42 {
		t.Errorf("the mapping sees %d, want 42", got)
	}
	if got := owner.Bytes()[8]; got != 43 {
		t.Errorf("the owner sees %d, want 43", got)
	}
	if other.FD() != -1 {
		t.Errorf("a mapped block owns descriptor %d", other.FD())
	}
	mustFree(t, other)
	if _, err := unix.FcntlInt(uintptr(owner.FD()), unix.F_GETFD, 0); err != nil {
		t.Errorf("Free of a mapped block closed the caller's descriptor: %v", err)
	}
}

// A3: a descriptor that its owner could truncate, or that is too short, or that
// is no memory file at all, is refused with the reason.
func TestMapRefuses(t *testing.T) {
	a := New()
	memfd := func(size int64, seals int) int {
		fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Close(fd) })
		if err := unix.Ftruncate(fd, size); err != nil {
			t.Fatal(err)
		}
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
			t.Fatal(err)
		}
		return fd
	}
	pipe, _, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	for _, c := range []struct {
		name     string
		fd       int
		writable bool
		want     string
	}{
		{"no seals", memfd(8192, 0), false, "lack SHRINK and GROW"},
		{"only grow", memfd(8192, unix.F_SEAL_GROW), false, "lack SHRINK and GROW"},
		{"only shrink", memfd(8192, unix.F_SEAL_SHRINK), false, "lack SHRINK and GROW"},
		{"too short", memfd(8191, fixedSize), false, "only 8191 bytes"},
		{"a pipe", int(pipe.Fd()), false, "not a memory file"},
		{"no descriptor", -1, false, "bad file descriptor"},
		{"read-only", mustShare(t, a, 8192, ReadOnlyForOthers).FD(), true, "lets others only read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := a.Map("from peer", c.fd, 8192, c.writable)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "from peer") {
				t.Errorf("error %v, want one that says %q and the purpose", err, c.want)
			}
		})
	}
}

// A4, within the process: not even the owner gets a second writable mapping.
func TestReadOnlyForOthersHoldsForTheOwnersDescriptor(t *testing.T) {
	b := mustShare(t, New(), 4096, ReadOnlyForOthers)
	if broken := tryToWrite(b.FD()); broken != "" {
		t.Error(broken)
	}
	b.Bytes()[0] = 1 // the owner's first mapping still writes
}

// tryToWrite tries every way to change a memory file of 4096 bytes through its
// descriptor, and names the first that worked.
func tryToWrite(fd int) string {
	reopened, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDWR, 0)
	if err == nil {
		defer unix.Close(reopened)
	} else {
		reopened = fd
	}
	for _, fd := range []int{fd, reopened} {
		for name, attempt := range map[string]func() error{
			"mmap writable": func() error {
				_, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
				return err
			},
			"mprotect": func() error {
				mem, err := unix.Mmap(fd, 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
				if err != nil {
					return err
				}
				return errors.Join(unix.Mprotect(mem, unix.PROT_READ|unix.PROT_WRITE), unix.Munmap(mem))
			},
			"pwrite":     func() error { _, err := unix.Pwrite(fd, []byte{1}, 0); return err },
			"shrink":     func() error { return unix.Ftruncate(fd, 0) },
			"grow":       func() error { return unix.Ftruncate(fd, 1<<20) },
			"punch hole": func() error { return unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 4096) },
			"more seals": func() error {
				_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE)
				return err
			},
		} {
			if attempt() == nil {
				return name + " worked"
			}
		}
	}
	return ""
}

const childEnv = "REMORA_ARENA_TEST_CHILD"

// TestMain lets this binary be the other process of TestOtherProcess.
func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		if err := child(os.Stdin, os.Stdout); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child maps descriptor 3 for reading, tries to break it, says "ready", waits for
// a line and answers with what it sees in byte 100.
func child(in io.Reader, out io.Writer) error {
	const fd = 3
	b, err := New().Map("child", fd, 4096, false)
	if err != nil {
		return err
	}
	if _, err := New().Map("child", fd, 4096, true); err == nil {
		return errors.New("Map has mapped a read-only block writable")
	}
	if broken := tryToWrite(fd); broken != "" {
		return errors.New(broken)
	}
	for lines := bufio.NewScanner(in); ; {
		if _, err := fmt.Fprintln(out, b.Bytes()[100]); err != nil {
			return err
		}
		if !lines.Scan() {
			return b.Free()
		}
	}
}

// A4, across processes: the other side can only read, and sees what the owner
// writes after it has mapped.
func TestOtherProcess(t *testing.T) {
	owner := mustShare(t, New(), 4096, ReadOnlyForOthers)
	owner.Bytes()[100] = 17
	dup, err := unix.FcntlInt(uintptr(owner.FD()), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(dup), "shared")
	defer file.Close()

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := scale.Again(t.Context(), self)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.ExtraFiles = []*os.File{file}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewScanner(out)
	expect := func(want string) {
		if !answers.Scan() || answers.Text() != want {
			t.Errorf("the other process sees %q, want %q", answers.Text(), want)
		}
	}
	expect("17")
	owner.Bytes()[100] = 18
	if _, err := io.WriteString(in, "look\n"); err != nil {
		t.Error(err)
	}
	expect("18")
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the other process failed: %v", err)
	}
}
