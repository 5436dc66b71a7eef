package mica

import (
	"os"
	"strconv"
	"testing"

	"github.com/remora-kv/remora/store/storetest"
)

func TestLong(t *testing.T) {
	s, _ := strconv.Atoi(os.Getenv("LONGSEED"))
	if s == 0 {
		t.Skip()
	}
	storetest.RunWith(t, engine, storetest.Options{Iterations: 10, Seed: uint64(s)})
}
