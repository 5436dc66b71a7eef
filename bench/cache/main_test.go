package cache_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/remora-kv/remora/bench/cache"
	"github.com/remora-kv/remora/bench/internal/benchtest"
	"github.com/remora-kv/remora/fabric/provider"
)

// The test binary is also the processes that the tests start.
func TestMain(m *testing.M) {
	benchtest.Main(m, benchtest.Roles{
		benchtest.Server: func() error { return cache.Serve(context.Background(), provider.New(), os.Stdin, os.Stdout, os.Stderr) },
		benchtest.Client: endlessClient,
		benchtest.Broken: func() error { return errors.New("no such luck") },
	})
}

// envOf is an environment whose server is this binary.
func envOf(role string) cache.Env {
	argv, vars := benchtest.Self(role)
	return cache.Env{Providers: provider.New(), Server: argv, ServerEnv: vars, Version: "test"}
}

// endlessClient says on its standard output when its measurement has begun.
func endlessClient() error {
	env := envOf(benchtest.Server)
	env.Progress = func(p cache.Progress) {
		if p.Trial == 1 {
			fmt.Fprintln(os.Stdout, "measuring", p.Name)
		}
	}
	_, err := cache.Run(context.Background(), cache.Config{Duration: time.Hour, Keys: 100, Memory: testMemory}, env)
	return err
}
