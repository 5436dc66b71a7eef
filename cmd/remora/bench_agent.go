package main

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/bench/cache"
)

const (
	// defaultAgent is where an agent listens.
	defaultAgent = "127.0.0.1:7790"
	// tokenVar is the variable that has the token of agents.
	tokenVar = "REMORA_BENCH_TOKEN"
)

// agentToken is the token of a flag or, without one, of the environment, which other users
// of the machine cannot read.
func agentToken(flag string) string {
	if flag != "" {
		return flag
	}
	return os.Getenv(tokenVar)
}

func newBenchAgentCmd(a *app) *cobra.Command {
	var listen, token string
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Let bench on another machine use client processes of this one",
		Long: `Let bench on another machine use client processes of this one, until it is stopped.

Run an agent on every client machine, and bench with --agents and --server on one. All
must be of the same version. An agent works for one run at a time, and ends the
processes of a run when its controller goes away.

Who can talk to an agent can have this machine send requests to any server. It listens
at a loopback address unless it has a token, which controllers must know: by --token,
or by the variable REMORA_BENCH_TOKEN, which other users of the machine do not see. The
token is not sent, but what follows is not encrypted: use it inside a network that is
yours, or through ssh.`,
		Example: `  REMORA_BENCH_TOKEN=... remora bench agent --listen 10.0.0.2:7790      on node2
  REMORA_BENCH_TOKEN=... remora bench agent --listen 10.0.0.3:7790      on node3
  REMORA_BENCH_TOKEN=... remora bench --agents node2:7790,node3:7790 --server tcp://node1:7700 --clients 4`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runAgent(cmd, a, listen, agentToken(token)) },
	}
	cmd.Flags().StringVar(&listen, "listen", defaultAgent, "`ADDRESS` to listen at, host:port")
	cmd.Flags().StringVar(&token, "token", "", "`TEXT` that controllers must know (default: that of REMORA_BENCH_TOKEN)")
	completeFrom(cmd, "listen")
	completeFrom(cmd, "token")
	return cmd
}

func runAgent(cmd *cobra.Command, a *app, listen, token string) error {
	if _, _, err := net.SplitHostPort(listen); err != nil {
		return misuse("--listen %q: write host:port", listen)
	}
	argv, err := serverArgv("", "bench", cacheClient)
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(cmd.Context(), "tcp", listen)
	if err != nil {
		return fmt.Errorf("listening at %s: %w", listen, err)
	}
	say := func(text string) { _, _ = fmt.Fprintln(a.err, "agent:", text) }
	say("listening at " + l.Addr().String())
	err = cache.ServeAgent(cmd.Context(), l, cache.Agent{Token: token, Version: programVersion(), Client: argv, Log: say})
	if errors.Is(err, cache.ErrOpenAgent) {
		return misuse("%v: use --token, or %s", err, tokenVar)
	}
	return err
}
