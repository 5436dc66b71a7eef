package server_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/remora-kv/remora/test/cachetest"
)

// roles are what this binary can be beside the tests: processes that they start
// and kill.
var roles = map[string]func() error{
	"server":  serverRole,
	"clients": clientsRole,
}

func TestMain(m *testing.M) {
	addEngines()
	if role := cachetest.Role(); role != "" {
		if err := roles[role](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if code == 0 {
		if err := cachetest.Leaked(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
