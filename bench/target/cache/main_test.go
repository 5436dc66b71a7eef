package cache_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/target/cache"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/test/benchtest"
)

// The test binary is also the processes that the tests start.
func TestMain(m *testing.M) {
	benchtest.Main(m, benchtest.Roles{
		benchtest.Server: func() error { return cache.Serve(context.Background(), provider.New(), os.Stdin, os.Stdout, os.Stderr) },
		benchtest.Client: func() error { return endlessClient(host.ShareOwn) },
		rolePlaced:       func() error { return endlessClient(host.ShareBusyBoth) },
		roleLimited:      func() error { return endlessClient("quota=50%") },
		roleHelper:       help,
		roleMember:       func() error { return drive("test") },
		roleOther:        func() error { return drive("other") },
		benchtest.Broken: func() error { return errors.New("no such luck") },
	})
}

// The roles of client processes: one of this version, and one of another.
const (
	roleMember = "member"
	roleOther  = "other member"
)

// Clients that measure until they are killed: with neighbours, and with quotas.
const (
	rolePlaced  = "placed"
	roleLimited = "limited"
)

// roleHelper is a process beside those that are measured.
const roleHelper = "helper"

func help() error { return host.Help(context.Background(), os.Stdin, os.Stdout) }

func drive(version string) error {
	return cache.Drive(context.Background(), provider.New(), version, os.Stdin, os.Stdout)
}

// envOf is an environment whose server is this binary.
func envOf(role string) cache.Env {
	argv := benchtest.Self(role)
	member := benchtest.Self(roleMember)
	helper := benchtest.Self(roleHelper)
	return cache.Env{
		Providers: provider.New(), Server: argv, Client: member, Helper: helper, Version: "test",
	}
}

// endlessClient says on its standard output when its measurement has begun.
func endlessClient(placement string) error {
	env := envOf(benchtest.Server)
	env.Progress = func(p bench.Progress) {
		if p.Trial == 1 {
			fmt.Fprintln(os.Stdout, "measuring", p.Name)
		}
	}
	_, err := cache.Run(context.Background(), cache.Config{Placements: []string{placement}, Duration: time.Hour, Keys: 100, Memory: testMemory}, env)
	return err
}
