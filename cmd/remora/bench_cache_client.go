package main

import (
	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/bench/cache"
)

// cacheClient is the name of the hidden command that bench and its agents start as client
// processes.
const cacheClient = "cache-client"

func newBenchCacheClientCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    cacheClient,
		Short:  "A client process of bench; it takes its commands from standard input",
		Hidden: true,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cache.Drive(cmd.Context(), a.providers(), programVersion(), a.in, a.out)
		},
	}
}
