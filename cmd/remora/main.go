// Command remora is the key-value cache, its clients and its tools in one
// binary, one file per verb.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(start()) }

// start runs the program until it ends or a signal stops it. A second signal kills
// the process, unless a command handles it.
func start() int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		sig := <-signals
		signal.Stop(signals)
		cancel(stopped{sig})
	}()
	defer profiled()()
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// stopped is the cause of a context that a signal cancelled.
type stopped struct{ signal os.Signal }

func (s stopped) Error() string { return "stopped by signal: " + s.signal.String() }
