package main

import (
	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/bench/cache"
)

// cacheServer is the name of the hidden command that bench starts as its server.
const cacheServer = "cache-server"

func newBenchCacheServerCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    cacheServer,
		Short:  "The server process of bench; it takes its commands from standard input",
		Hidden: true,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cache.Serve(cmd.Context(), a.providers(), a.in, a.out, a.err)
		},
	}
}
