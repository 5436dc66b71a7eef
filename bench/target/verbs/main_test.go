package verbs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/target/verbs"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/test/benchtest"
	"github.com/remora-kv/remora/test/scale"
)

// The test binary is also the processes that the tests start.
// testOps is how many operations a test runs.
var testOps = max(scale.Times(800), 80)

func TestMain(m *testing.M) {
	benchtest.Main(m, benchtest.Roles{
		benchtest.Server: func() error { return verbs.Serve(context.Background(), provider.New(), os.Stdin, os.Stdout) },
		benchtest.Client: endlessClient,
		roleHelper:       func() error { return host.Help(context.Background(), os.Stdin, os.Stdout) },
		benchtest.Broken: func() error { return errors.New("no such luck") },
	})
}

// roleHelper is a process beside those that are measured.
const roleHelper = "helper"

// envOf is an environment whose server is this binary.
func envOf(role string) verbs.Env {
	argv := benchtest.Self(role)
	helper := benchtest.Self(roleHelper)
	return verbs.Env{Providers: provider.New(), Server: argv, Helper: helper}
}

// endlessClient says on its standard output when its measurement has begun.
func endlessClient() error {
	env := envOf(benchtest.Server)
	env.Progress = func(p bench.Progress) {
		if p.Trial == 1 {
			fmt.Fprintln(os.Stdout, "measuring", p.Name)
		}
	}
	_, err := verbs.Run(context.Background(), verbs.Config{Tests: []string{"echo-ww"}, Duration: time.Hour}, env)
	return err
}
