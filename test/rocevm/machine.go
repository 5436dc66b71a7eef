package rocevm

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/remora-kv/remora/test/rocevm/agent"
)

const (
	qemuProgram = "qemu-system-x86_64"
	// firstExtraFD is the number of the first file that a child process of Go
	// gets besides the standard three.
	firstExtraFD = 3
	// provokeGrace is how long a kernel may take to panic.
	provokeGrace = 5 * time.Second
	// consoleLimit is how much of a machine's console is kept.
	consoleLimit = 64 << 10
)

// kernelArgs make the kernel quiet and quick under emulation: an error of the
// kernel still shows on the console, and a panic ends the machine at once.
const kernelArgs = "console=ttyS0 quiet loglevel=4 panic=-1 unknown_nmi_panic mitigations=off tsc=reliable no_timer_check nokaslr " +
	"random.trust_cpu=on cryptomgr.notests=1 audit=0 apparmor=0 selinux=0 nowatchdog 8250.nr_uarts=1"

// emulatedCPU makes the kernel, whose Soft-RoCE copies with memcpy, choose the
// one that copies words in ascending order. It would take REP MOVSB where the
// processor says that this is fast, which an emulator executes byte by byte, as no
// processor does; and without REP_GOOD, which it finds on this vendor's
// processors of this family, one that sometimes copies backwards.
const emulatedCPU = "max,vendor=GenuineIntel,family=6,model=94,erms=off,fsrm=off"

// countKHz is the rate of the time-stamp counter of a guest that counts
// instructions, which QEMU derives from its clock.
const countKHz = 1_000_000

// machineConfig is one QEMU process.
type machineConfig struct {
	name           string
	kernel, initrd string
	accel          Accel
	memory, cpus   int
	tscKHz         int               // rate of the host's time-stamp counter
	params         map[string]string // rocevm.KEY=VALUE on the kernel's command line
	agent          *os.File          // this machine's end of the agent's socket
	monitor        *os.File          // this machine's end of the socket of QEMU's monitor
	wire           *os.File          // end of a wire to another machine, or nil
	mac            string            // of the interface at the wire
}

// args is the command line of QEMU.
func (c machineConfig) args() []string {
	// An emulated guest reads the host's time-stamp counter. Left to measure its
	// rate on a busy host, it has been seen to run its clock eight times too fast.
	accel, cpu, clock := "tcg,thread=multi", emulatedCPU, fmt.Sprintf(" tsc_early_khz=%d", c.tscKHz)
	switch c.accel {
	case AccelKVM:
		accel, cpu, clock = "kvm", "host", ""
	case AccelCount:
		accel, clock = "tcg,thread=single", fmt.Sprintf(" tsc_early_khz=%d", countKHz)
	case AccelAuto, AccelTCG:
	}
	a := []string{
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
		"-name", "rocevm-" + c.name, "-machine", "pc", "-accel", accel, "-cpu", cpu,
		"-smp", strconv.Itoa(c.cpus), "-m", strconv.Itoa(c.memory),
		"-kernel", c.kernel, "-initrd", c.initrd, "-append", kernelArgs + clock + paramArgs(c.params),
		"-serial", "stdio",
		"-chardev", fmt.Sprintf("socket,id=agent,fd=%d", firstExtraFD),
		"-device", "virtio-serial-pci", "-device", "virtserialport,chardev=agent,name=" + agent.PortName,
		"-chardev", fmt.Sprintf("socket,id=monitor,fd=%d", firstExtraFD+1), "-mon", "chardev=monitor,mode=readline",
	}
	if c.accel == AccelCount {
		a = append(a, "-icount", "shift=0") // two to the power of 0 nanoseconds each
	}
	if c.wire != nil {
		a = append(a,
			"-netdev", fmt.Sprintf("socket,id=wire,fd=%d", firstExtraFD+2),
			"-device", "virtio-net-pci,netdev=wire,romfile=,speed=10000,duplex=full,mac="+c.mac)
	}
	return a
}

func paramArgs(params map[string]string) string {
	text := ""
	for _, key := range sortedKeys(params) {
		text += " rocevm." + key + "=" + params[key]
	}
	return text
}

// machine is a running QEMU.
type machine struct {
	process *os.Process
	console *console
	monitor *os.File      // takes commands for QEMU
	done    chan struct{} // closed when the process is gone
	err     error         // how it ended; valid after done
}

// startMachine starts QEMU and takes over the files of the configuration. The
// process dies with this one.
func startMachine(c machineConfig) (*machine, error) {
	monitor, far, err := socketPair()
	if err != nil {
		return nil, err
	}
	c.monitor = far
	cmd := exec.Command(qemuProgram, c.args()...) //lint:ignore noctx the machine ends by kill, which its owner defers
	m := &machine{console: &console{}, monitor: monitor, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = m.console, m.console
	cmd.ExtraFiles = []*os.File{c.agent, c.monitor}
	if c.wire != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, c.wire)
	}
	// A group of its own keeps the terminal's interrupt from it: the harness
	// ends it in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}

	started := make(chan error)
	go func() {
		// Pdeathsig fires when the thread that forked ends, so the thread
		// stays with this goroutine until QEMU is gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		for _, f := range cmd.ExtraFiles {
			f.Close()
		}
		started <- err
		if err == nil {
			m.err = cmd.Wait()
			monitor.Close()
			close(m.done)
		}
	}()
	if err := <-started; err != nil {
		monitor.Close()
		if errors.Is(err, exec.ErrNotFound) {
			return nil, fmt.Errorf("rocevm: no %s in PATH; run script/deps rdma", qemuProgram)
		}
		return nil, fmt.Errorf("rocevm: start %s: %w", qemuProgram, err)
	}
	m.process = cmd.Process
	return m, nil
}

// kill ends the machine and waits for it.
func (m *machine) kill() {
	_ = m.process.Kill() // it may be gone
	<-m.done
}

// provoke makes a kernel that does not answer panic, by an interrupt that cannot
// be masked: its console then shows what it was doing.
func (m *machine) provoke() {
	if m.monitor == nil {
		return
	}
	if _, err := m.monitor.WriteString("nmi\n"); err != nil {
		return
	}
	select {
	case <-m.done:
	case <-time.After(provokeGrace):
	}
}

// share says how long the machine ran on a core of the host and how long it
// waited for one. A test that timed out on a host that is busy with other things
// has not proved much.
func (m *machine) share() (ran, waited time.Duration) {
	if m.process == nil {
		return 0, 0
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", m.process.Pid))
	if err != nil {
		return 0, 0
	}
	for _, name := range threads {
		var r, w time.Duration
		if text, err := os.ReadFile(name); err == nil {
			if _, err := fmt.Sscan(string(text), &r, &w); err == nil {
				ran, waited = ran+r, waited+w
			}
		}
	}
	return ran, waited
}

// console keeps the last of what the kernel and QEMU itself printed.
type console struct {
	mu   sync.Mutex
	text []byte
}

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, p...)
	if len(c.text) > 2*consoleLimit {
		c.text = append([]byte(nil), c.text[len(c.text)-consoleLimit:]...)
	}
	return len(p), nil
}

// tail returns the last lines.
func (c *console) tail(lines int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return tail(string(c.text), lines)
}

// socketPair returns two connected files.
func socketPair() (a, b *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("rocevm: socketpair: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "rocevm-host"), os.NewFile(uintptr(fds[1]), "rocevm-guest"), nil
}
