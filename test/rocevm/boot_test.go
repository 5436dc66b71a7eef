package rocevm

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// bootSwitch turns on the tests that boot machines; they take some minutes
// and need what script/deps rdma installs.
const bootSwitch = "REMORA_ROCEVM"

// bootForTest boots guests with our tools in them and checks at the end that
// nothing is left of them.
func bootForTest(t *testing.T, cfg Config) *Cluster {
	t.Helper()
	if os.Getenv(bootSwitch) == "" {
		t.Skipf("set %s=1 to boot virtual machines", bootSwitch)
	}
	tools, err := CompileTools(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program, err := CompileRemora(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cfg.Files, cfg.Log = slices.Concat(cfg.Files, tools, program), t.Logf
	c, err := Boot(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(c)
	t.Cleanup(func() {
		c.Close()
		for _, g := range c.Guests {
			if err := g.machine.process.Signal(syscall.Signal(0)); err == nil {
				t.Errorf("QEMU of %s is still there", g.Name)
			}
		}
		if _, err := os.Stat(c.dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", c.dir, err)
		}
	})
	return c
}

// runScenarios runs all that the number of guests allows, in order, in one boot.
func runScenarios(t *testing.T, c *Cluster) {
	for _, name := range ScenarioNames(len(c.Guests), c.Accel) {
		t.Run(name, func(t *testing.T) {
			s, err := FindScenario(name, len(c.Guests), c.Accel)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
			defer cancel()
			var output bytes.Buffer // of one guest or two
			text, err := s.Run(ctx, c, &lockedBuffer{b: &output})
			if err != nil {
				t.Fatalf("%v\n%s", err, output.String())
			}
			t.Log(text)
		})
	}
}

// lockedBuffer takes the output of two guests.
type lockedBuffer struct {
	mu sync.Mutex
	b  *bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func TestOneGuest(t *testing.T) {
	c := bootForTest(t, Config{})
	g := c.Server()
	t.Run("devinfo", func(t *testing.T) {
		text, err := g.Output(t.Context(), "ibv_devinfo -v")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"hca_id:\t" + deviceName, "PORT_ACTIVE", "GID[  1]:\t\t::ffff:" + firstAddress + ", RoCE v2"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in:\n%s", want, text)
			}
		}
	})
	t.Run("clock", func(t *testing.T) { checkClock(t, g) })
	t.Run("probe", func(t *testing.T) { checkProbe(t, g) })
	runScenarios(t, c)
	t.Run("hang", func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("too slow"))
		defer cancel()
		if _, err := g.Run(ctx, Shell("sleep 1000")); err == nil || !strings.Contains(err.Error(), "too slow") {
			t.Errorf("got %v", err)
		}
		if text, err := g.Output(t.Context(), "ps -o args"); err != nil || strings.Contains(text, "sleep 1000") {
			t.Errorf("the program is still there: %v\n%s", err, text)
		}
	})
	// The last one, since the guest does not survive it.
	t.Run("panic", func(t *testing.T) {
		_, err := g.Run(t.Context(), Shell("echo c >/proc/sysrq-trigger; sleep 1000"))
		if !errors.Is(err, ErrGuestDied) || !strings.Contains(err.Error(), "Kernel panic") {
			t.Errorf("got %v, want ErrGuestDied with the console", err)
		}
	})
}

// checkClock compares a second of the guest with a second of the host: a guest
// that misjudges its time-stamp counter makes every timeout in it wrong.
func checkClock(t *testing.T, g *Guest) {
	start := time.Now()
	text, err := g.Output(t.Context(), "a=$(cut -d' ' -f1 /proc/uptime); sleep 2; b=$(cut -d' ' -f1 /proc/uptime); echo $a $b")
	host := time.Since(start)
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(text)
	if len(fields) != 2 {
		t.Fatalf("got %q", text)
	}
	from, errFrom := time.ParseDuration(fields[0] + "s")
	to, errTo := time.ParseDuration(fields[1] + "s")
	if err := errors.Join(errFrom, errTo); err != nil {
		t.Fatal(err)
	}
	// The host's time includes the start of the programs.
	if guest := to - from; guest > host+100*time.Millisecond || guest < 1900*time.Millisecond {
		t.Errorf("%v in the guest are %v on the host", guest, host)
	}
}

// knownMissing is what rdma_rxe is known not to do; anything else that is
// missing would be news.
var knownMissing = map[string]bool{"RC gives up, retry count 7": true}

func checkProbe(t *testing.T, g *Guest) {
	found, err := g.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range found.Missing() {
		if !knownMissing[c.Subject+" "+c.Name] {
			t.Errorf("the kernel of the guest lost a capability: %v", c)
		}
	}
	if len(found.Capabilities) < 40 {
		t.Errorf("only %d answers", len(found.Capabilities))
	}
}

func TestTwoGuests(t *testing.T) {
	c := bootForTest(t, Config{Guests: 2})
	runScenarios(t, c)
	// The last one, since a guest does not survive it.
	t.Run("power failure", func(t *testing.T) {
		r, err := c.Traffic(t.Context(), nil, Traffic{Timeout: shortTimeout, Retries: fewRetries, Reads: endless}, func() error {
			c.Server().Kill()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Log(r)
		if err := r.wantFailed(); err != nil {
			t.Error(err)
		}
	})
}

// TestCountingGuest checks that a guest can count instructions, and that ours
// are not many more than perftest's.
func TestCountingGuest(t *testing.T) { runScenarios(t, bootForTest(t, Config{Accel: AccelCount})) }

// TestBootIsCancelled checks that an interrupt leaves nothing behind.
func TestBootIsCancelled(t *testing.T) {
	if os.Getenv(bootSwitch) == "" {
		t.Skipf("set %s=1 to boot virtual machines", bootSwitch)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	c, err := Boot(ctx, Config{Guests: 2})
	if err == nil {
		c.Close()
		t.Skip("this host boots in less than two seconds")
	}
	left, err := os.ReadDir(temp)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range left {
		if strings.HasPrefix(entry.Name(), "rocevm-") {
			t.Errorf("%s was left behind", entry.Name())
		}
	}
}

// A boot that takes too long is tried once more, and the second reason is the answer.
func TestBootIsTriedAgain(t *testing.T) {
	if os.Getenv(bootSwitch) == "" {
		t.Skipf("set %s=1 to boot virtual machines", bootSwitch)
	}
	var said []string
	_, err := Boot(t.Context(), Config{
		BootTimeout: time.Millisecond,
		Log:         func(format string, _ ...any) { said = append(said, format) },
	})
	if err == nil || !strings.Contains(err.Error(), "not ready after 1ms") {
		t.Fatalf("a boot in a millisecond: %v", err)
	}
	n := 0
	for _, s := range said {
		if strings.HasPrefix(s, "booting once more") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("tried again %d times, want 1", n)
	}
}
