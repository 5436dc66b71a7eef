// Package pgtest runs a PostgreSQL of its own for tests: the programs of Debian's package
// postgresql on a directory that is made for them and removed afterwards.
//
//	P1  A server of the same name that runs on this host is not touched. This one listens
//	    at a socket in its directory, and at no port.
//	P2  PostgreSQL does not run as root: started by root, it runs as the user postgres, or
//	    nobody.
//	P3  It ends with Stop, and with this process, however that ends.
//	P4  Each test has a database of its own.
package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrMissing says that PostgreSQL is not installed, and what to install.
var ErrMissing = errors.New("no PostgreSQL: install the Debian package postgresql (script/deps does)")

// Server is a server for the tests of a package. The zero value is ready; it starts with
// the first database.
type Server struct {
	once sync.Once
	err  error
	dir  string
	cmd  *exec.Cmd
	said bytes.Buffer
	end  chan struct{} // closed when the process has ended
	made int           // databases
	lock sync.Mutex
}

// Database makes an empty database and returns its URL. A test skips where PostgreSQL is
// not installed, but not in CI.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	s.once.Do(func() { s.err = s.start(t.Context()) })
	if errors.Is(s.err, ErrMissing) && os.Getenv("CI") == "" {
		t.Skip(s.err)
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	s.lock.Lock()
	s.made++
	name := "test" + strconv.Itoa(s.made)
	s.lock.Unlock()
	s.exec(t, s.url("postgres"), "CREATE DATABASE "+name)
	return s.url(name)
}

// Exec runs statements in a database.
func (s *Server) exec(t testing.TB, database, statements string) {
	t.Helper()
	if err := Exec(t.Context(), database, statements); err != nil {
		t.Fatal(err)
	}
}

// Exec runs statements in the database of a URL.
func Exec(ctx context.Context, database, statements string) error {
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statements, pgx.QueryExecModeSimpleProtocol)
	return errors.Join(err, conn.Close(ctx))
}

func (s *Server) url(database string) string {
	u := url.URL{Scheme: "postgres", User: url.User("postgres"), Path: "/" + database, RawQuery: url.Values{"host": {s.dir}}.Encode()}
	return u.String()
}

// programs finds where Debian, or another system, has PostgreSQL.
func programs() (dir string, err error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is right
	slices.SortFunc(found, func(a, b string) int { return version(a) - version(b) })
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", ErrMissing
	}
	return filepath.Dir(path), nil
}

func version(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // others come first
	return n
}

// account is the user that PostgreSQL runs as (P2), nil for the user of this process.
func account() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root: %w", err)
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
}

func (s *Server) start(ctx context.Context) error {
	bin, err := programs()
	if err != nil {
		return err
	}
	as, err := account()
	if err != nil {
		return err
	}
	// The name is short: a path of a socket has at most 107 bytes.
	if s.dir, err = os.MkdirTemp("", "pgtest-"); err != nil {
		return err
	}
	if as != nil {
		if err := os.Chown(s.dir, int(as.Uid), int(as.Gid)); err != nil {
			return err
		}
	}
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "--no-sync", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "-D", s.data())
	initdb.Dir, initdb.SysProcAttr = s.dir, attributes(as)
	if out, err := initdb.CombinedOutput(); err != nil {
		return errors.Join(fmt.Errorf("initdb: %w: %s", err, out), os.RemoveAll(s.dir))
	}
	s.cmd = exec.Command(filepath.Join(bin, "postgres"), "-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=16MB") //lint:ignore noctx it ends with Stop
	s.cmd.Dir, s.cmd.SysProcAttr, s.cmd.Stderr, s.end = s.dir, attributes(as), &s.said, make(chan struct{})
	if err := s.run(); err != nil {
		return err
	}
	return s.await(ctx)
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// run starts the server from a thread that lives as long as this process does: what dies
// with its parent dies with the thread that made it (P3).
func (s *Server) run() error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := s.cmd.Start()
		started <- err
		if err == nil {
			_ = s.cmd.Wait() // what it said is told by await
			close(s.end)
		}
	}()
	return <-started
}

// startTimeout is how long a server may take until it answers.
const startTimeout = 60 * time.Second

// await waits until the server answers.
func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := Exec(ctx, s.url("postgres"), "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.end:
			return fmt.Errorf("PostgreSQL ended: %s", strings.TrimSpace(s.said.String()))
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL does not answer: %w", err)
		}
	}
}

// Stop ends the server and removes its directory. It is for TestMain, after all tests.
func (s *Server) Stop() error {
	if s.end == nil {
		return nil
	}
	_ = s.cmd.Process.Signal(syscall.SIGINT) // a fast shutdown; an error means that it is gone
	<-s.end
	return os.RemoveAll(s.dir)
}
