package target

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/remora-kv/remora/bench/host"
)

// The networks of a server.
const (
	NetTCP  = "tcp"  // a free port of the loopback interface
	NetUnix = "unix" // a socket in a directory of its own
)

// ForeignConfig says how a server is started.
type ForeignConfig struct {
	Program Program
	// Network is TCP or Unix; empty means TCP.
	Network string
	// CPUs are those that the server runs on; none means all.
	CPUs []int
	// Threads is how many serve: workers of memcached, of Redis those that do
	// input and output beside the one that does everything else. 0 leaves it to
	// the program.
	Threads int
	// Memory is how many bytes it keeps before it evicts what was not used for
	// long; 0 leaves it to the program.
	Memory int64
	// Args are added to the command line.
	Args []string
}

// Foreign is a server that runs.
type Foreign struct {
	*host.Process
	// Network and Address are what net.Dial takes.
	Network, Address string
	// Version is what the server says.
	Version string
	program Program
	dir     string // of the socket
}

// StartForeign starts a server and returns when it has answered. It ends with ctx.
func StartForeign(ctx context.Context, cfg ForeignConfig) (*Foreign, error) {
	s := &Foreign{program: cfg.Program, Network: cfg.Network}
	if s.Network == "" {
		s.Network = NetTCP
	}
	path, err := s.program.find()
	if err != nil {
		return nil, err
	}
	if err := s.choose(ctx); err != nil {
		return nil, err
	}
	if err := s.start(ctx, path, cfg); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	return s, nil
}

// choose chooses where to listen (F2).
func (s *Foreign) choose(ctx context.Context) (err error) {
	switch s.Network {
	case NetTCP:
		s.Address, err = freePort(ctx)
	case NetUnix:
		if s.dir, err = os.MkdirTemp("", "remora-"+s.program.name+"-"); err == nil {
			s.Address = filepath.Join(s.dir, "sock")
		}
	default:
		return fmt.Errorf("%s cannot listen on %q: use %s or %s", s.program.name, s.Network, NetTCP, NetUnix)
	}
	if err != nil {
		return fmt.Errorf("a place for %s to listen: %w", s.program.name, err)
	}
	return nil
}

// freePort returns an address that nobody listens at.
func freePort(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// start starts the process and waits until it answers.
func (s *Foreign) start(ctx context.Context, path string, cfg ForeignConfig) (err error) {
	cfg.Network = s.Network
	args := append(s.program.args(&cfg, s.Address), cfg.Args...)
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = os.TempDir()
	if s.Process, err = host.StartProcess(cmd, nil, cfg.CPUs); err != nil {
		return err
	}
	if err := s.await(ctx); err != nil {
		_ = s.Process.Close() // that it is no good is known
		return fmt.Errorf("%s: %w", s.program.name, err)
	}
	return nil
}

const (
	// readyTimeout is how long a server may take until it answers, answerTimeout
	// how long an answer, and askEvery is how often it is asked.
	readyTimeout  = time.Minute
	answerTimeout = time.Second
	askEvery      = 2 * time.Millisecond
)

// await waits until the server answers (F3).
func (s *Foreign) await(ctx context.Context) error {
	late := time.After(readyTimeout)
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		pid, version, err := s.ask(ctx)
		if err == nil {
			s.Version = version
			return s.mustBe(pid)
		}
		select {
		case <-s.Done():
			return s.Obituary(host.ErrGone)
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			return fmt.Errorf("no answer at %s for %v: %w%s", s.Address, readyTimeout, err, s.Said())
		case <-tick.C:
		}
	}
}

func (s *Foreign) mustBe(pid int) error {
	if pid == s.Pid() {
		return nil
	}
	return fmt.Errorf("at %s answers process %d, not %d, which was started%s", s.Address, pid, s.Pid(), s.Said())
}

// ask asks once who listens.
func (s *Foreign) ask(ctx context.Context) (pid int, version string, err error) {
	err = s.talk(ctx, answerTimeout, func(conn net.Conn) (err error) {
		pid, version, err = s.program.identify(conn)
		return err
	})
	return pid, version, err
}

// talk connects with the server and talks with it, each no longer than a timeout.
func (s *Foreign) talk(ctx context.Context, timeout time.Duration, talk func(net.Conn) error) error {
	d := net.Dialer{Timeout: timeout}
	conn, err := d.DialContext(ctx, s.Network, s.Address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	return talk(conn)
}

// Running is a server that was started by another process: it is not asked who it is, and
// stays when this is closed.
func Running(p Program, network, address string) *Foreign {
	return &Foreign{program: p, Network: network, Address: address}
}

// Blame is that of the process; of one that was not started here nothing is known.
func (s *Foreign) Blame(err error) error {
	if s.Process == nil {
		return err
	}
	return s.Process.Blame(err)
}

// Close ends the server and removes its socket.
func (s *Foreign) Close() error {
	if s.Process == nil {
		return nil
	}
	go s.nudge()
	return errors.Join(s.Process.Close(), os.RemoveAll(s.dir))
}

// nudge wakes a server that was told to end: memcached looks once in a second
// whether it was, and when somebody connects.
func (s *Foreign) nudge() {
	d := net.Dialer{Timeout: answerTimeout}
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.Done():
			return
		case <-tick.C:
		}
		if conn, err := d.DialContext(context.Background(), s.Network, s.Address); err == nil {
			_ = conn.Close()
		}
	}
}
