package host

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// Process is a process that was started here, or a goroutine in its place. Its
// methods may be called from any goroutine.
type Process struct {
	pid  int // 0: this process
	tell func() error
	kill func() error
	told atomic.Bool
	done chan struct{}
	how  error // what became of it, once done is closed
	last lastWords
}

// endTimeout is how long a process may take to end after it was told to; tests are
// less patient.
var endTimeout = 30 * time.Second

// ErrGone is wrapped by errors that come from the end of a process.
var ErrGone = errors.New("the server process ended")

// StartProcess starts cmd, which comes from exec.CommandContext with its pipes set. tell is
// how it is told to end, by Close and by the end of its context; nil means SIGTERM, after
// which any exit status is right. Where cpus are given it runs on no others. What it writes to its standard error is kept for Said, and
// what it writes to its standard output unless cmd has a place for that.
func StartProcess(cmd *exec.Cmd, tell func() error, cpus []int) (*Process, error) {
	p := &Process{tell: tell, done: make(chan struct{})}
	if tell == nil {
		p.tell = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = processAttr()
	}
	cmd.Stderr = &p.last
	if cmd.Stdout == nil {
		cmd.Stdout = &p.last
	}
	cmd.Cancel, cmd.WaitDelay = p.end, endTimeout
	started := make(chan error, 1)
	go func() {
		// P1. The thread is never unlocked: it ends with this goroutine, mask and
		// all (P3).
		runtime.LockOSThread()
		err := startOn(cpus, cmd)
		started <- err
		if err != nil {
			return
		}
		err = cmd.Wait()
		if tell == nil && p.told.Load() {
			err = nil
		}
		p.ended(err)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting the server process %s: %w", cmd.Args[0], err)
	}
	p.pid, p.kill = cmd.Process.Pid, cmd.Process.Kill
	return p, nil
}

// startOn starts cmd from this thread, which must be locked.
func startOn(cpus []int, cmd *exec.Cmd) error {
	if len(cpus) != 0 {
		if err := narrow(cpus); err != nil {
			return err
		}
	}
	return cmd.Start()
}

// GoProcess calls run in a goroutine that takes the place of a process. tell makes run
// return.
func GoProcess(tell, run func() error) *Process {
	p := &Process{tell: tell, done: make(chan struct{})}
	go func() { p.ended(run()) }()
	return p
}

func (p *Process) ended(how error) {
	p.how = how
	close(p.done)
}

// end tells the process to.
func (p *Process) end() error {
	p.told.Store(true)
	return p.tell()
}

// Pid is the number of the process, 0 where it is a goroutine of this one.
func (p *Process) Pid() int { return p.pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits until the process has ended and returns what became of it.
func (p *Process) Wait() error {
	<-p.done
	return p.how
}

// CPU returns what the process has used of all CPUs until now, as the kernel counts
// it, in steps of 10 ms. Of one that has ended nobody knows: the error says how it did.
func (p *Process) CPU() (time.Duration, error) {
	used, err := TimeOf(p.pid)
	if err != nil {
		return 0, p.Blame(err)
	}
	return used, nil
}

// Close tells the process to end and waits for it.
func (p *Process) Close() error {
	_ = p.end() // an error means that it is gone, which is what we want
	select {
	case <-p.done:
		if p.how != nil {
			return fmt.Errorf("server: %w%s", p.how, p.Said())
		}
		return nil
	case <-time.After(endTimeout):
	}
	if p.kill == nil {
		return errors.New("server: did not end when it was told to")
	}
	_ = p.kill()
	<-p.done
	return fmt.Errorf("server process %d: did not end when it was told to and was killed%s", p.pid, p.Said())
}
