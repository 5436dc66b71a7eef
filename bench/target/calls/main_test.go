package calls_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/target/calls"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/test/benchtest"
)

// The test binary is also the processes that the tests start.
func TestMain(m *testing.M) {
	benchtest.Main(m, benchtest.Roles{
		benchtest.Server: func() error { return calls.Serve(context.Background(), provider.New(), os.Stdin, os.Stdout, os.Stderr) },
		benchtest.Client: endlessClient,
		roleHelper:       help,
		benchtest.Broken: func() error { return errors.New("no such luck") },
	})
}

// roleHelper is a process beside those that are measured.
const roleHelper = "helper"

func help() error { return host.Help(context.Background(), os.Stdin, os.Stdout) }

// envOf is an environment whose server is this binary.
func envOf(role string) calls.Env {
	argv := benchtest.Self(role)
	return calls.Env{Providers: provider.New(), Server: argv}
}

// endlessClient says on its standard output when its measurement has begun.
func endlessClient() error {
	env := envOf(benchtest.Server)
	env.Progress = func(p bench.Progress) {
		if p.Trial == 1 {
			fmt.Fprintln(os.Stdout, "measuring", p.Name)
		}
	}
	_, err := calls.Run(context.Background(), calls.Config{Duration: time.Hour}, env)
	return err
}
