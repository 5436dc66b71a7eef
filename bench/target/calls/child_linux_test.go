package calls_test

import (
	"testing"

	"github.com/remora-kv/remora/test/benchtest"
)

// A client that is killed takes its server with it, and no socket stays.
func TestServerDoesNotOutliveAKilledClient(t *testing.T) {
	benchtest.KillClient(t, benchtest.Client)
}
