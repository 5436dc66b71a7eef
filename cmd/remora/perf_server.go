package main

import (
	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/bench/perf"
	"github.com/remora-kv/remora/fabric/provider"
)

// perfServer is the name of the hidden command that perf starts as its server.
const perfServer = "perf-server"

func newPerfServerCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    perfServer,
		Short:  "The server process of perf; it takes its commands from standard input",
		Hidden: true,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return perf.Serve(cmd.Context(), provider.New(), a.in, a.out)
		},
	}
}
