package main

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
)

// The flags that several benchmarks have mean the same in all of them.

// trialFlags are how long and how often is measured.
type trialFlags struct {
	duration, warmup *time.Duration
	ops, trials      *int
}

// register defines the flags, with the values that they point to as defaults. --ops counts
// those of each of what per names.
func (t trialFlags) register(fl *pflag.FlagSet, per string) {
	fl.IntVar(t.trials, "trials", *t.trials, "`NUMBER` of trials of each row; the table shows the median")
	fl.DurationVar(t.duration, "duration", *t.duration, "length of a trial")
	fl.IntVar(t.ops, "ops", *t.ops, "end a trial after `N` operations of each "+per+", instead of by time")
	fl.DurationVar(t.warmup, "warmup", *t.warmup, "time before the first trial with a server, not counted")
	section(fl, "Trials", "duration", "ops", "warmup")
}

// check refuses what cannot be meant.
func (t trialFlags) check(cmd *cobra.Command) error {
	if cmd.Flags().Changed("duration") && *t.duration < time.Microsecond {
		return misuse("--duration %v is too short to measure anything", *t.duration)
	}
	return errors.Join(exclusive(cmd, "ops", "duration"), atLeastOne(cmd, "trials", *t.trials))
}

// atLeastOne refuses a number below 1: 0 means the default in the libraries, but is a mistake
// of a user.
func atLeastOne(cmd *cobra.Command, name string, v int) error {
	if cmd.Flags().Changed(name) && v < 1 {
		return misuse("--%s %d must be at least 1", name, v)
	}
	return nil
}

// fabricFlag defines the fabric of a benchmark that measures one.
func fabricFlag(fl *pflag.FlagSet, p *string, value string) {
	choose(fl, p, "fabric", value, "fabric to measure: "+either(provider.Names()), provider.Names()...)
}

// pollFlag defines how idle threads wait.
func pollFlag(fl *pflag.FlagSet, p *string) {
	choose(fl, p, "poll", fabric.Adaptive.String(), "how idle threads wait: adaptive sleeps, busy never does", "adaptive", "busy")
}

// placementFlag defines what client and server share their CPUs with.
func placementFlag(fl *pflag.FlagSet, p *[]string) {
	fl.StringSliceVar(p, "placement", []string{host.ShareOwn}, "what client and server share their CPUs with, a `LIST` of "+strings.Join(host.Sharings(), ", "))
}

// seedFlag defines what decides about all that is random.
func seedFlag(fl *pflag.FlagSet, p *uint64, value uint64) {
	fl.Uint64Var(p, "seed", value, "the same `NUMBER` makes the same data and operations")
}

// remoteFlags define a server on another host.
func remoteFlags(fl *pflag.FlagSet, command, listen *string, kind string) {
	fl.StringVar(command, "server-command", "", "`COMMAND` that runs remora bench worker "+kind+" on another host, such as ssh")
	fl.StringVar(listen, "listen", "", "`URL` for that server to listen on")
	section(fl, "Server", "server-command", "listen")
}

// openBench opens the output of a benchmark and makes its environment, whose server is a worker
// of a kind, or what the command of the user starts.
func openBench[R any](a *app, o *benchOutput, command, kind string) (env bench.Env[R], s *rowSink[R], err error) {
	argv := func(command, kind string) []string {
		line, failed := workerArgv(command, kind)
		err = errors.Join(err, failed)
		return line
	}
	env = bench.Env[R]{
		Providers: a.providers(), Version: programVersion(),
		Server: argv(command, kind), Client: argv("", workerClient), Helper: argv("", workerHelper),
	}
	if err != nil {
		return env, nil, err
	}
	if s, err = openSink[R](a, o); err != nil {
		return env, nil, err
	}
	env.Row, env.Progress = s.row, s.bar.show
	return env, s, nil
}
