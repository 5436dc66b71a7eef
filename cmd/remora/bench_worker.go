package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/target/cache"
	"github.com/remora-kv/remora/bench/target/calls"
	"github.com/remora-kv/remora/bench/target/kvl"
	"github.com/remora-kv/remora/bench/target/verbs"
	"github.com/remora-kv/remora/fabric/provider"
)

// The kinds of processes that benchmarks start.
const (
	workerCache  = "cache"
	workerClient = "cache-client" // of agents and --processes
	workerRPC    = "rpc"
	workerVerbs  = "verbs"
	workerKVL    = "kvl"
	workerHelper = "helper" // of placements
)

// newBenchWorkerCmd is the hidden command that benchmarks start as their server and client
// processes.
func newBenchWorkerCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:       "worker KIND",
		Short:     "A process of a benchmark; it reads its commands from standard input",
		Hidden:    true,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{workerCache, workerClient, workerRPC, workerVerbs, workerKVL, workerHelper},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			switch args[0] {
			case workerCache:
				return cache.Serve(ctx, a.providers(), a.in, a.out, a.err)
			case workerClient:
				return cache.Drive(ctx, a.providers(), programVersion(), a.in, a.out)
			case workerHelper:
				return host.Help(ctx, a.in, a.out)
			case workerRPC:
				return calls.Serve(ctx, provider.New(), a.in, a.out, a.err)
			case workerKVL:
				return kvl.Serve(ctx, provider.New(), a.in, a.out, a.err)
			default:
				return verbs.Serve(ctx, provider.New(), a.in, a.out)
			}
		},
	}
}

// workerArgv is the command line of a worker: this program, unless the user has a command
// that starts it elsewhere.
func workerArgv(command, kind string) ([]string, error) {
	if command != "" {
		return []string{"/bin/sh", "-c", "exec " + command}, nil
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program, which is its own server: %w", err)
	}
	return []string{exe, "bench", "worker", kind}, nil
}
