package call_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/remora-kv/remora/bench/call"
	"github.com/remora-kv/remora/fabric/provider"
)

// The test binary is also the processes that the tests start. roleVar says which.
const (
	roleVar    = "REMORA_CALL_TEST_ROLE"
	roleServer = "server" // what Env.Server starts
	roleClient = "client" // a client that measures until it is killed
	roleBroken = "broken" // a server that dies
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case roleServer:
		os.Exit(exitCode(call.Serve(context.Background(), provider.New(), os.Stdin, os.Stdout, os.Stderr)))
	case roleClient:
		os.Exit(exitCode(endlessClient()))
	case roleBroken:
		os.Exit(exitCode(errors.New("no such luck")))
	}
	os.Exit(m.Run())
}

func exitCode(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// envOf is an environment whose server is this binary.
func envOf(role string) call.Env {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	// A race build would wait a second before it exits.
	vars := []string{roleVar + "=" + role, "GORACE=atexit_sleep_ms=0 " + os.Getenv("GORACE")}
	return call.Env{Providers: provider.New(), Server: []string{exe}, ServerEnv: vars}
}

// endlessClient says on its standard output when its measurement has begun.
func endlessClient() error {
	env := envOf(roleServer)
	env.Progress = func(p call.Progress) {
		if p.Trial == 1 {
			fmt.Fprintln(os.Stdout, "measuring", p.Name)
		}
	}
	_, err := call.Run(context.Background(), call.Config{Duration: time.Hour}, env)
	return err
}
