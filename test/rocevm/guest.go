package rocevm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/remora-kv/remora/test/rocevm/agent"
)

const (
	// clockSlack is how far the clock of a guest may be ahead of the time since
	// its start: the resolution of what it reports.
	clockSlack = 100 * time.Millisecond
	// quitGrace is how long a program may take to print its stacks after
	// SIGQUIT, when its time is over.
	quitGrace = 10 * time.Second
	// powerOffGrace is how long a guest may take to end by itself.
	powerOffGrace = 3 * time.Second
	// consoleTail is how many lines of the console go into an error: enough
	// for a kernel panic with its stack.
	consoleTail = 80
)

// ErrGuestDied means that a guest ended before the program in it did: a kernel
// panic, or QEMU itself. The run has no result.
var ErrGuestDied = errors.New("rocevm: the guest died before its program ended")

// Guest is a booted machine with an active Soft-RoCE port.
type Guest struct {
	Name    string // guest, or server and client of two
	Address string // IPv4 address of the RoCE interface
	Peer    string // address of the other guest; its own if there is none
	Iface   string // name of the RoCE interface
	Release string // of the kernel

	machine *machine
	started time.Time
	conn    net.Conn
	out     *agent.Writer

	mu     sync.Mutex
	nextID int
	procs  map[int]*Process
	gone   error // set when no event will come any more
}

// connect starts the machine and waits for its agent.
func connect(ctx context.Context, c machineConfig, g *Guest) error {
	host, guestEnd, err := socketPair()
	if err != nil {
		return err
	}
	conn, err := net.FileConn(host)
	host.Close()
	if err != nil {
		guestEnd.Close()
		return fmt.Errorf("rocevm: %w", err)
	}
	c.agent = guestEnd
	g.started = time.Now()
	m, err := startMachine(c)
	if err != nil {
		conn.Close()
		return err
	}
	g.attach(m, conn)
	if err := g.awaitHello(ctx); err != nil {
		g.kill()
		return err
	}
	return nil
}

// attach makes conn the way to the agent in a machine.
func (g *Guest) attach(m *machine, conn net.Conn) {
	g.machine, g.conn, g.out, g.procs = m, conn, agent.NewWriter(conn), make(map[int]*Process)
	go func() {
		// A machine that is gone ends the reading of its events.
		<-m.done
		conn.Close()
	}()
}

// awaitHello waits for the guest's first event, then starts to dispatch.
func (g *Guest) awaitHello(ctx context.Context) error {
	events := json.NewDecoder(g.conn)
	hello := make(chan error, 1)
	var e agent.Event
	go func() { hello <- events.Decode(&e) }()
	var err error
	select {
	case err = <-hello:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	switch {
	case err != nil:
		return fmt.Errorf("rocevm: guest %s did not boot: %w; the end of its console:\n%s", g.Name, err, g.machine.console.tail(consoleTail))
	case e.Kind != agent.KindHello:
		return fmt.Errorf("rocevm: guest %s said %q before hello", g.Name, e.Kind)
	case e.Error != "":
		return fmt.Errorf("rocevm: guest %s is not ready: %s; the end of its console:\n%s", g.Name, strings.ReplaceAll(e.Error, "\n", "; "), g.machine.console.tail(consoleTail))
	}
	if elapsed := time.Since(g.started); !g.started.IsZero() && time.Duration(e.Uptime) > elapsed+clockSlack {
		return fmt.Errorf("rocevm: the clock of guest %s is wrong: it says %v after %v; every timeout in it would be, too", g.Name, time.Duration(e.Uptime), elapsed)
	}
	g.Release = e.Text
	go g.dispatch(events)
	return nil
}

// dispatch hands events to their processes until the guest is gone.
func (g *Guest) dispatch(events *json.Decoder) {
	for {
		var e agent.Event
		if err := events.Decode(&e); err != nil {
			g.lost()
			return
		}
		g.mu.Lock()
		p := g.procs[e.ID]
		if e.Kind == agent.KindExit {
			delete(g.procs, e.ID)
		}
		g.mu.Unlock()
		if p != nil {
			p.event(e)
		}
	}
}

// lost fails everything that still waits for the guest.
func (g *Guest) lost() {
	<-g.machine.done
	err := fmt.Errorf("%w (guest %s, QEMU: %v); the end of its console:\n%s", ErrGuestDied, g.Name, exitText(g.machine.err), g.machine.console.tail(consoleTail))
	g.mu.Lock()
	procs := g.procs
	g.procs, g.gone = nil, err
	g.mu.Unlock()
	for _, p := range procs {
		p.end(err)
	}
}

func exitText(err error) string {
	if err == nil {
		return "ended normally"
	}
	return err.Error()
}

// send registers a process, if there is one, and sends a request for it.
func (g *Guest) send(r agent.Request, p *Process) error {
	g.mu.Lock()
	if g.gone != nil {
		err := g.gone
		g.mu.Unlock()
		return err
	}
	if p != nil {
		g.nextID++
		p.id, r.ID = g.nextID, g.nextID
		g.procs[p.id] = p
	}
	g.mu.Unlock()
	return g.out.Send(r)
}

// Start runs a program in the guest.
func (g *Guest) Start(c Command) (*Process, error) {
	if len(c.Argv) == 0 {
		return nil, errors.New("rocevm: a command needs a program")
	}
	p := newProcess(g, c.Output)
	if err := g.send(agent.Request{Op: agent.OpStart, Argv: c.Argv, Env: c.Env, Dir: c.Dir}, p); err != nil {
		return nil, err
	}
	return p, nil
}

// Run runs a program to its end. When the time of ctx is over first, the program
// gets SIGQUIT, upon which Go programs print their stacks, then SIGKILL, and the
// error says so. A program that fails is no error here: see Result.
func (g *Guest) Run(ctx context.Context, c Command) (Result, error) {
	p, err := g.Start(c)
	if err != nil {
		return Result{}, err
	}
	return p.WaitOrQuit(ctx)
}

// Output runs a shell command and returns what it printed; a status other than
// 0 is an error.
func (g *Guest) Output(ctx context.Context, command string) (string, error) {
	r, err := g.Run(ctx, Shell(command))
	if err != nil {
		return r.Output, err
	}
	if err := r.Err(); err != nil {
		return r.Output, fmt.Errorf("rocevm: guest %s: %s: %w\n%s", g.Name, command, err, tail(r.Output, consoleTail))
	}
	return r.Output, nil
}

// ReadFile copies a file of the guest to w.
func (g *Guest) ReadFile(ctx context.Context, path string, w io.Writer) error {
	p := newProcess(g, w)
	if err := g.send(agent.Request{Op: agent.OpRead, Path: path}, p); err != nil {
		return err
	}
	r, err := p.Wait(ctx)
	if err != nil {
		return err
	}
	return r.Err()
}

// KernelLog returns the last lines of the kernel's messages since the guest was
// ready, with the stacks of all tasks that the kernel holds at this moment. A
// guest that does not answer is made to panic, and its console tells.
func (g *Guest) KernelLog(ctx context.Context, lines int) string {
	ctx, cancel := context.WithTimeout(ctx, quitGrace)
	defer cancel()
	p, err := g.Start(Shell("echo w >/proc/sysrq-trigger; dmesg"))
	if err == nil {
		var r Result
		if r, err = p.Wait(ctx); err == nil && r.Err() == nil {
			return tail(r.Output, lines)
		}
	}
	if !errors.Is(err, ErrGuestDied) {
		g.machine.provoke()
	}
	return g.machine.console.tail(lines)
}

// HostShare says how long the guest ran on cores of the host and how long it
// waited for one, over all its threads.
func (g *Guest) HostShare() (ran, waited time.Duration) { return g.machine.share() }

// powerOff ends the guest in order, or by force when it does not answer.
func (g *Guest) powerOff() {
	if g.machine == nil {
		return
	}
	if g.send(agent.Request{Op: agent.OpPowerOff}, nil) == nil {
		select {
		case <-g.machine.done:
		case <-time.After(powerOffGrace):
		}
	}
	g.kill()
}

// kill ends QEMU, as a power failure would.
func (g *Guest) kill() {
	g.machine.kill()
	g.conn.Close()
}

// Kill ends the guest like a power failure, for tests of what its peer sees.
func (g *Guest) Kill() { g.kill() }

// Command is a program to run in a guest.
type Command struct {
	Argv   []string
	Env    []string // added to the guest's own, which name the RoCE device
	Dir    string
	Output io.Writer // gets standard output and error as they come; may be nil
}

// Shell is a Command for the shell of the guest.
func Shell(command string) Command { return Command{Argv: []string{"sh", "-c", command}} }

// Result is how a program ended.
type Result struct {
	Status int            // exit status; 128 + the signal after a signal
	Signal syscall.Signal // that ended it, or 0
	Output string         // the last of what it printed
	reason string         // why it could not run
}

// Err is nil if the program ended with status 0.
func (r Result) Err() error {
	switch {
	case r.reason != "":
		return errors.New(r.reason)
	case r.Signal != 0:
		return fmt.Errorf("ended by signal: %v", r.Signal)
	case r.Status != 0:
		return fmt.Errorf("exit status %d", r.Status)
	}
	return nil
}
