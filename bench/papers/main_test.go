package papers

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/remora-kv/remora/bench/target/verbs"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/test/benchtest"
)

// The test binary is also the servers that the tests start.
func TestMain(m *testing.M) {
	benchtest.Main(m, benchtest.Roles{
		benchtest.Server: func() error { return verbs.Serve(context.Background(), provider.New(), os.Stdin, os.Stdout) },
		benchtest.Broken: func() error { return errors.New("no such luck") },
	})
}
