package target

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/test/benchtest"

	"github.com/remora-kv/remora/test/cachetest"
)

func programs() []Program { return []Program{MemcachedProgram(), RedisProgram()} }

// The test binary is also a client that is killed, one for each program.
func TestMain(m *testing.M) {
	roles := benchtest.Roles{}
	for _, p := range programs() {
		roles[p.name] = func() error { return endlessClient(p) }
	}
	benchtest.Main(m, roles)
}

func endlessClient(p Program) error {
	s, err := StartForeign(context.Background(), ForeignConfig{Program: p})
	if err != nil {
		return err
	}
	if _, err := os.Stdout.WriteString("measuring " + s.Address + "\n"); err != nil {
		return err
	}
	return s.Wait()
}

// needs skips a test whose program is not installed; CI installs them all.
func needs(t *testing.T, p Program) {
	t.Helper()
	if _, err := p.find(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func startForeign(t *testing.T, cfg ForeignConfig) *Foreign {
	t.Helper()
	needs(t, cfg.Program)
	s, err := StartForeign(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// each runs a test for every program on every network.
func eachProgram(t *testing.T, test func(t *testing.T, cfg ForeignConfig)) {
	for _, p := range programs() {
		for _, network := range []string{NetTCP, NetUnix} {
			t.Run(p.name+"/"+network, func(t *testing.T) { test(t, ForeignConfig{Program: p, Network: network}) })
		}
	}
}

func TestStartAndClose(t *testing.T) {
	eachProgram(t, func(t *testing.T, cfg ForeignConfig) {
		tmp := t.TempDir()
		t.Setenv("TMPDIR", tmp)
		all := host.CPUs()
		cfg.CPUs, cfg.Threads, cfg.Memory = all[len(all)-1:], 2, 64<<20
		s := startForeign(t, cfg)
		if s.Network != cfg.Network || !strings.Contains(s.Version, ".") {
			t.Errorf("%+v", s)
		}
		checkPinned(t, s.Pid(), cfg.CPUs)
		checkCPU(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := syscall.Kill(s.Pid(), 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is still there: %v", s.Pid(), err)
		}
		if left, _ := os.ReadDir(tmp); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

// checkPinned looks at every thread of a process.
func checkPinned(t *testing.T, pid int, want []int) {
	t.Helper()
	tasks, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*")
	if err != nil || len(tasks) < 2 {
		t.Fatalf("threads %v, %v", tasks, err)
	}
	var wanted unix.CPUSet
	for _, cpu := range want {
		wanted.Set(cpu)
	}
	for _, task := range tasks {
		tid, err := strconv.Atoi(filepath.Base(task))
		if err != nil {
			t.Fatal(err)
		}
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(tid, &set); err != nil || set != wanted {
			t.Errorf("thread %d may use %v, %v, want %v", tid, set, err, want)
		}
	}
}

// checkCPU makes the server work until that is seen from outside.
func checkCPU(t *testing.T, s *Foreign) {
	t.Helper()
	before, err := s.CPU()
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(cachetest.Watchdog); ; {
		for range 50 {
			if _, _, err := s.ask(t.Context()); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal(err)
			}
		}
		now, err := s.CPU()
		if err != nil {
			t.Fatal(err)
		}
		if now > before {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("a server at work uses no CPU")
		}
	}
}

// A client that is killed takes its server with it.
func TestServerDoesNotOutliveAKilledClient(t *testing.T) {
	for _, p := range programs() {
		t.Run(p.name, func(t *testing.T) {
			needs(t, p)
			benchtest.KillClient(t, p.name)
		})
	}
}

func TestServerEndsWithItsContext(t *testing.T) {
	eachProgram(t, func(t *testing.T, cfg ForeignConfig) {
		needs(t, cfg.Program)
		ctx, cancel := context.WithCancel(t.Context())
		s, err := StartForeign(ctx, cfg)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := StartForeign(ctx, cfg); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end of its context a server starts: %v", err)
		}
	})
}

func TestAServerThatDies(t *testing.T) {
	eachProgram(t, func(t *testing.T, cfg ForeignConfig) {
		s := startForeign(t, cfg)
		if err := syscall.Kill(s.Pid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-s.Done()
		if err := s.Blame(net.ErrClosed); !errors.Is(err, host.ErrGone) || !errors.Is(err, net.ErrClosed) {
			t.Errorf("its death is blamed as %v", err)
		}
	})
}

// What a program says about its command line reaches the user.
func TestArgumentsThatAProgramRefuses(t *testing.T) {
	for _, p := range programs() {
		needs(t, p)
		_, err := StartForeign(t.Context(), ForeignConfig{Program: p, Args: []string{"--no-such-thing"}})
		if !errors.Is(err, host.ErrGone) || !strings.Contains(err.Error(), "no-such-thing") {
			t.Errorf("%s: %v", p.name, err)
		}
	}
}

func TestAMissingProgramNamesItsPackage(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, p := range programs() {
		_, err := StartForeign(t.Context(), ForeignConfig{Program: p})
		if !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "Debian package "+p.debian) {
			t.Errorf("%s: %v", p.name, err)
		}
	}
}

func TestConfigurationsThatCannotBe(t *testing.T) {
	for _, p := range programs() {
		needs(t, p)
		if _, err := StartForeign(t.Context(), ForeignConfig{Program: p, Network: "sctp"}); err == nil || !strings.Contains(err.Error(), "use tcp or unix") {
			t.Errorf("%s on sctp: %v", p.name, err)
		}
		if _, err := StartForeign(t.Context(), ForeignConfig{Program: p, CPUs: []int{1 << 20}}); err == nil || !strings.Contains(err.Error(), "CPU 1048576") {
			t.Errorf("%s on a CPU that is not there: %v", p.name, err)
		}
	}
}

// F3: whoever has got the port meanwhile is not taken for the server.
func TestAnotherServerAtThePort(t *testing.T) {
	for _, p := range programs() {
		first := startForeign(t, ForeignConfig{Program: p})
		path, err := p.find()
		if err != nil {
			t.Fatal(err)
		}
		second := &Foreign{program: p, Network: NetTCP, Address: first.Address}
		err = second.start(t.Context(), path, ForeignConfig{Program: p})
		if err == nil || !errors.Is(err, host.ErrGone) && !strings.Contains(err.Error(), "answers process "+strconv.Itoa(first.Pid())) {
			t.Errorf("%s: %v", p.name, err)
		}
	}
}

func TestArguments(t *testing.T) {
	for _, tc := range []struct {
		cfg     ForeignConfig
		address string
		want    string
	}{
		{ForeignConfig{Program: MemcachedProgram(), Network: NetTCP}, "127.0.0.1:7", "-l 127.0.0.1 -p 7"},
		{ForeignConfig{Program: MemcachedProgram(), Network: NetUnix}, "/s", "-s /s -a 0700"},
		{ForeignConfig{Program: MemcachedProgram(), Threads: 3, Memory: 1<<20 + 1}, "/s", "-t 3 -m 2"},
		{ForeignConfig{Program: RedisProgram(), Network: NetTCP}, "127.0.0.1:7", "--bind 127.0.0.1 --port 7"},
		{ForeignConfig{Program: RedisProgram(), Network: NetUnix}, "/s", "--port 0 --unixsocket /s"},
		{ForeignConfig{Program: RedisProgram(), Threads: 3, Memory: 1000}, "/s", "--io-threads 3 --io-threads-do-reads yes --maxmemory 1000"},
	} {
		args := tc.cfg.Program.args(&tc.cfg, tc.address)
		if got := strings.Join(args, " "); !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.cfg.Program.name, got, tc.want)
		}
		if i := slices.Index(args, "--save"); tc.cfg.Program.name == RedisProgram().name && (i < 0 || args[i+1] != "") {
			t.Errorf("Redis saves: %q", args)
		}
	}
}
