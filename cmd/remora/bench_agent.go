package main

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/bench/host"
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
		Short: "Run client processes for bench cache on another machine",
		Long: `Run client processes for bench cache on another machine, until it is stopped.

Run an agent on every client machine, and bench cache with --agents and --server on one.
All must have the same version. An agent serves one run at a time and ends its processes
when the controller goes away.

A controller can make this machine send requests to any server. An agent therefore
listens on a loopback address only, unless it has a token that controllers must know:
by --token, or by REMORA_BENCH_TOKEN, which other users of the machine cannot see. The
token itself is never sent, but the rest is not encrypted: use a private network or ssh.`,
		Example: `  REMORA_BENCH_TOKEN=... remora bench agent --listen 10.0.0.2:7790      on node2
  REMORA_BENCH_TOKEN=... remora bench agent --listen 10.0.0.3:7790      on node3
  REMORA_BENCH_TOKEN=... remora bench cache --agents node2:7790,node3:7790 --server tcp://node1:7700 --clients 4`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runAgent(cmd, a, listen, agentToken(token)) },
	}
	cmd.Flags().StringVar(&listen, "listen", defaultAgent, "`ADDRESS` to listen on, host:port")
	cmd.Flags().StringVar(&token, "token", "", "`TEXT` that controllers must know (default: REMORA_BENCH_TOKEN)")
	complete(cmd)
	return cmd
}

func runAgent(cmd *cobra.Command, a *app, listen, token string) error {
	if _, _, err := net.SplitHostPort(listen); err != nil {
		return misuse("--listen %q: write host:port", listen)
	}
	argv, err := workerArgv("", workerClient)
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(cmd.Context(), "tcp", listen)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", listen, err)
	}
	say := func(text string) { _, _ = fmt.Fprintln(a.err, "agent:", text) }
	say("listening on " + l.Addr().String())
	err = host.ServeAgent(cmd.Context(), l, host.AgentConfig{Token: token, Version: programVersion(), Command: argv, Log: say})
	if errors.Is(err, host.ErrOpenAgent) {
		return misuse("%v: use --token, or %s", err, tokenVar)
	}
	return err
}
