package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/remora-kv/remora/test/rocevm"
)

// failureLog is how many lines of the kernel's messages follow a failure.
const failureLog = 200

// serverGrace is how long a server may take to end by itself after its client.
const serverGrace = 3 * time.Second

// runFlags are those of run alone.
type runFlags struct {
	*common
	server, client string
	ready          string
	readyPort      int
	clientDecides  bool
	at             list
	faults         []fault
	fetch          list
	command        []string
}

func runVerb(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	flags, c := newFlags("run", stderr)
	r := &runFlags{common: c}
	flags.StringVar(&r.server, "server", "", "two guests: shell command of the server")
	flags.StringVar(&r.client, "client", "", "two guests: shell command of the client; its status is that of the run")
	flags.StringVar(&r.ready, "ready", "", "two guests: start the client after a line of the server that matches this regexp")
	flags.IntVar(&r.readyPort, "ready-port", 0, "two guests: start the client when the server listens on this port, of TCP or rdma_cm")
	flags.BoolVar(&r.clientDecides, "client-decides", false, "two guests: the status of the server does not matter, as when it is killed")
	flags.Var(&r.at, "at", "GUEST~REGEXP=>GUEST:COMMAND runs a shell command when a guest prints a line that matches, repeatable")
	flags.Var(&r.fetch, "fetch", "[guest:]/guest/file:host copied back after the run, repeatable")
	if err := flags.Parse(args); err != nil {
		return exitUsage, err
	}
	r.command = flags.Args()
	if err := r.check(flags); err != nil {
		return exitUsage, err
	}
	cluster, err := c.boot(ctx, stderr)
	if err != nil {
		return exitUsage, err
	}
	defer cluster.Close()
	bounded, cancel := c.deadline(ctx)
	defer cancel()
	if c.config.Guests == 2 {
		err = r.runTwo(bounded, cluster, stdout)
	} else {
		err = r.runOne(bounded, cluster, stdout)
	}
	if fetchErr := r.fetchAll(ctx, cluster); err == nil {
		err = fetchErr
	}
	return report(ctx, cluster, stderr, err)
}

func (r *runFlags) check(flags *flag.FlagSet) (err error) {
	two := r.config.Guests == 2
	switch {
	case two && (r.server == "" || r.client == "" || len(r.command) > 0):
		return errors.New("rocevm: two guests need -server CMD and -client CMD, and no other command")
	case two && r.ready == "" && r.readyPort == 0:
		return errors.New("rocevm: say when the client may start: -ready REGEXP of a line of the server, or -ready-port PORT")
	case !two && (r.server != "" || r.client != ""):
		return errors.New("rocevm: -server and -client are for -guests 2")
	case !two && len(r.command) == 0:
		flags.Usage()
		return errors.New("rocevm: say what to run, as in rocevm run -- ibv_devinfo -v")
	}
	r.faults, err = parseFaults(r.at, r.config.Guests)
	return err
}

// statusError is the failure of a program under test, whose status the harness
// ends with.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

// report says what failed, with the kernel's messages, and returns the status.
func report(ctx context.Context, cluster *rocevm.Cluster, stderr io.Writer, err error) (int, error) {
	switch {
	case err == nil:
		return 0, nil
	case errors.Is(ctx.Err(), context.Canceled):
		return exitUsage, errors.New("rocevm: interrupted")
	case errors.Is(err, rocevm.ErrGuestDied):
		return exitUsage, err // its console is in the error
	}
	for _, g := range cluster.Guests {
		ran, waited := g.HostShare()
		fmt.Fprintf(stderr, "rocevm: %s ran for %.0f s on cores of this host and waited %.0f s for one\n", g.Name, ran.Seconds(), waited.Seconds())
		if text := g.KernelLog(context.WithoutCancel(ctx), failureLog); text != "" {
			fmt.Fprintf(stderr, "rocevm: last kernel messages of %s:\n%s\n", g.Name, text)
		} else {
			fmt.Fprintf(stderr, "rocevm: no kernel messages of %s since it booted\n", g.Name)
		}
	}
	var failed *statusError
	if errors.As(err, &failed) {
		fmt.Fprintln(stderr, "rocevm: FAIL:", failed.text)
		return failed.status, nil
	}
	return exitUsage, err
}

func outcome(g *rocevm.Guest, r rocevm.Result, err error) error {
	if err != nil {
		return err
	}
	if err := r.Err(); err != nil {
		return &statusError{status: r.Status, text: fmt.Sprintf("guest %s: %v", g.Name, err)}
	}
	return nil
}

// guestCommand prepares what a guest runs; out must be flushed at the end.
func (r *runFlags) guestCommand(c rocevm.Command, g *rocevm.Guest, stdout io.Writer) (rocevm.Command, *rocevm.PrefixWriter) {
	out := rocevm.NewPrefixWriter(stdout, g.Name)
	c.Env, c.Output = r.env, out
	return c, out
}

func (r *runFlags) runOne(ctx context.Context, cluster *rocevm.Cluster, stdout io.Writer) error {
	g := cluster.Server()
	command := rocevm.Command{Argv: r.command}
	if len(r.command) == 1 {
		command = rocevm.Shell(r.command[0])
	}
	command, out := r.guestCommand(command, g, stdout)
	defer out.Flush()
	p, err := g.Start(command)
	if err != nil {
		return err
	}
	await := startFaults(ctx, r.faults, cluster, map[string]*rocevm.Process{g.Name: p}, stdout)
	result, err := p.WaitOrQuit(ctx)
	return errors.Join(outcome(g, result, err), await())
}

// runTwo starts the server, waits until it is ready, and runs the client. A
// server that is still there after the client has a little time to end and is
// then told to.
func (r *runFlags) runTwo(ctx context.Context, cluster *rocevm.Cluster, stdout io.Writer) error {
	ready := rocevm.Ready{Port: r.readyPort}
	if r.ready != "" {
		var err error
		if ready.Line, err = regexp.Compile(r.ready); err != nil {
			return fmt.Errorf("rocevm: -ready: %w", err)
		}
	}
	server, client := cluster.Server(), cluster.Client()
	serverCommand, serverOut := r.guestCommand(rocevm.Shell(r.server), server, stdout)
	defer serverOut.Flush()
	clientCommand, clientOut := r.guestCommand(rocevm.Shell(r.client), client, stdout)
	defer clientOut.Flush()

	pair, err := cluster.StartPair(ctx, serverCommand, ready, clientCommand)
	if err != nil {
		return err
	}
	await := startFaults(ctx, r.faults, cluster, map[string]*rocevm.Process{server.Name: pair.Server, client.Name: pair.Client}, stdout)
	result, err := pair.Client.WaitOrQuit(ctx)
	if err := errors.Join(outcome(client, result, err), await()); err != nil {
		_ = pair.Server.Signal(syscall.SIGQUIT) // its stacks belong to the report
		return err
	}
	if err := endServer(ctx, pair.Server, server); err != nil && !r.clientDecides {
		return err
	}
	return nil
}

func endServer(ctx context.Context, p *rocevm.Process, server *rocevm.Guest) error {
	grace, cancel := context.WithTimeout(ctx, serverGrace)
	defer cancel()
	result, err := p.Wait(grace)
	if err == nil {
		return outcome(server, result, nil)
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	result, err = p.WaitOrQuit(ctx)
	if err == nil && result.Signal == syscall.SIGTERM {
		return nil // it was told to end
	}
	return outcome(server, result, err)
}

// fetchAll copies files of the guests to the host.
func (r *runFlags) fetchAll(ctx context.Context, cluster *rocevm.Cluster) error {
	for _, text := range r.fetch {
		g := cluster.Server()
		for _, each := range cluster.Guests {
			if rest, found := strings.CutPrefix(text, each.Name+":"); found {
				g, text = each, rest
			}
		}
		from, to, found := strings.Cut(text, ":")
		if !found {
			to = filepath.Base(from)
		}
		if err := fetchFile(ctx, g, from, to); err != nil {
			return fmt.Errorf("rocevm: fetch %s from %s: %w", from, g.Name, err)
		}
	}
	return nil
}

func fetchFile(ctx context.Context, g *rocevm.Guest, from, to string) error {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	if err := g.ReadFile(ctx, from, f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
