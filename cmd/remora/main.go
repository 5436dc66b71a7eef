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

func start() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer profiled()()
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}
