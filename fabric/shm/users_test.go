package shm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/fabric"
)

// nobody is the second user of these tests, with a group of its own.
const (
	nobody      = 65534
	nobodyGroup = 54321
)

// asNobody is how a child of another user is started.
func asNobody(t *testing.T) *syscall.SysProcAttr {
	t.Helper()
	if os.Getuid() != 0 && os.Getenv("CI") == "" {
		t.Skip("only root can start a process of another user")
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, Groups: []uint32{11, nobodyGroup}}}
}

// nobodysDir makes a directory of nobody in the directory for temporary files.
func nobodysDir(t *testing.T) string {
	t.Helper()
	dir := publicDir(t)
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A process of another user connects only when it is allowed to. Otherwise it is told so, and how
// it can be allowed, and the listener reports it.
func TestOtherUser(t *testing.T) {
	attr := asNobody(t)
	const askFor = "--allow-user 65534"
	for _, tc := range []struct {
		name     string
		cfg      fabric.ListenConfig
		told     string // what the child must be told; empty when it may connect
		reported bool
	}{
		{"default", fabric.ListenConfig{}, askFor, false}, // the file keeps it out
		{"open file", fabric.ListenConfig{Mode: 0o666}, askFor, true},
		{"another user", fabric.ListenConfig{AllowUIDs: []int{1}, AllowGIDs: []int{1}}, askFor, true},
		{"closed file", fabric.ListenConfig{AllowUIDs: []int{nobody}, Mode: 0o600}, askFor, false},
		{"allowed user", fabric.ListenConfig{AllowUIDs: []int{1, nobody}}, "", false},
		{"allowed group", fabric.ListenConfig{AllowGIDs: []int{nobody}}, "", false},
		{"allowed supplementary group", fabric.ListenConfig{AllowGIDs: []int{1, nobodyGroup}}, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			srv := mustSide(t)
			reports := make(chan error, 10)
			tc.cfg.Report = func(err error) { reports <- err }
			l := listen(t, srv, tc.cfg)
			c := startChild(t, "connect", attr)
			c.tell(task{Path: l.Addr().Name})
			if tc.told == "" {
				if err := srv.accept(l, nil); err != nil {
					t.Fatal(err)
				}
				if p := srv.qp.Peer(); !p.HasCred || p.UID != nobody || p.PID != c.cmd.Process.Pid {
					t.Errorf("the peer is %+v", p)
				}
				defer func() { _ = srv.qp.Close() }()
			}
			a := c.hear()
			if got := strings.Join(a.Findings, ";"); (got == "") != (tc.told == "") || !strings.Contains(got, tc.told) || a.Forbidden != (tc.told != "") {
				t.Errorf("the child says %q, want %q", got, tc.told)
			}
			if tc.reported {
				if err := <-reports; !strings.Contains(err.Error(), fmt.Sprintf("pid %d uid %d", c.cmd.Process.Pid, nobody)) {
					t.Errorf("reported: %v", err)
				}
			}
		})
	}
}

// A dialer sends nothing to a server of another user that it does not trust, and connects to one
// that its address names.
func TestServerOfOtherUser(t *testing.T) {
	attr := asNobody(t)
	path := filepath.Join(nobodysDir(t), "sock")
	c := startChild(t, "impostor", attr)
	c.tell(task{Path: path})
	c.hear()
	cli := mustSide(t)
	for _, trusted := range [][]string{nil, {"1"}, {"daemon", "2"}} {
		err := cli.dial(path, trusted...)
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "?user=65534") {
			t.Errorf("dialing a server of another user: %v", err)
		}
		if a := c.hear(); !a.Ready {
			t.Errorf("the other user was sent %q", a.Findings)
		}
	}
	if err := cli.dial(path, "nobody-of-that-name"); !errors.Is(err, fabric.ErrInvalid) || !strings.Contains(err.Error(), "nobody-of-that-name") {
		t.Errorf("a user that does not exist: %v", err)
	}
	name := strconv.Itoa(nobody)
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	for _, trusted := range []string{strconv.Itoa(nobody), name} {
		path := filepath.Join(nobodysDir(t), "sock")
		c := startChild(t, "serve", attr)
		c.tell(task{Path: path})
		c.hear()
		if err := cli.dial(path, "1", trusted); err != nil {
			t.Fatalf("dialing a server of user %s, who is trusted: %v", trusted, err)
		}
		_ = cli.qp.Close()
	}
}

// childImpostor listens, and answers for each connection whether it was sent nothing.
func childImpostor(p *parent) error {
	var k task
	if err := p.in.Decode(&k); err != nil {
		return err
	}
	l, err := listenUnix(k.Path, 0o666)
	if err != nil {
		return err
	}
	if err := p.out.Encode(answer{Ready: true}); err != nil {
		return err
	}
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return err
		}
		a := answer{Ready: true}
		if m, err := (socket{c: c}).recv(); err == nil {
			a = answer{Findings: []string{fmt.Sprintf("%q", m.data)}}
		}
		if err := p.out.Encode(a); err != nil {
			return err
		}
	}
}

// Files that another user made first keep a server from starting, with an error that names them.
func TestFilesOfOtherUser(t *testing.T) {
	asNobody(t) // needs root
	s := mustSide(t)
	fails := func(path, file string) {
		t.Helper()
		_, err := s.dev.Listen(fabric.Addr{Fabric: "shm", Name: path}, fabric.ListenConfig{})
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), file+" belongs to user 65534") {
			t.Errorf("listening beside %s of another user: %v", file, err)
		}
	}
	common := publicDir(t)
	if err := os.Chmod(common, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(common, "sock")
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o666)
	if err == nil {
		err = errors.Join(lock.Chown(nobody, nobody), unix.Flock(int(lock.Fd()), unix.LOCK_EX))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	fails(path, path+".lock")
	dir := filepath.Join(common, "dir")
	if err := errors.Join(os.Mkdir(dir, 0o777), os.Chown(dir, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	fails(filepath.Join(dir, "sock"), dir)
}

// The groups of a process are those that the kernel says.
func TestGroups(t *testing.T) {
	l, err := listenUnix(filepath.Join(t.TempDir(), "sock"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	s, err := dialSocket(t.Context(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.c.Close() }()
	want, err := os.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.groups()
	slices.Sort(want)
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("groups %v, %v; want %v", got, err, want)
	}
}
