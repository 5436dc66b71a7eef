//go:build !race

package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/test/cachetest"
)

// All of the resident set of a server that has served is accounted for: 5 % of it, or 2 MiB if that is
// more, may be missing, too much, or neither known nor memory that the Go runtime says it has.
func TestMemoryIsAccountedFor(t *testing.T) {
	for _, name := range []string{provider.Shm, provider.TCP} {
		for _, links := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s links=%v", name, links), func(t *testing.T) {
				s := startServer(t, serverTask{URL: listenURL(t, name), Cores: 2, Memory: 256 << 20, Links: links})
				r := newRig(t, name)
				r.url = s.url
				value := strings.Repeat("v", 1<<20)
				var c *remora.Client
				for i := range 20 {
					c = r.dial()
					for j := range 5 {
						mustSet(t, c, fmt.Sprint("key ", i, j), value, 0)
						mustGet(t, c, fmt.Sprint("key ", i, j))
					}
				}
				checkAccounts(t, s, c)
			})
		}
	}
}

func mustGet(t *testing.T, c *remora.Client, key string) {
	t.Helper()
	if _, err := c.Get(testContext(t), key); err != nil {
		t.Fatal(err)
	}
}

func checkAccounts(t *testing.T, s *serverProcess, c *remora.Client) {
	t.Helper()
	docs, err := c.Stats(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	var st server.Stats
	if err := json.Unmarshal(docs[0], &st); err != nil {
		t.Fatal(err)
	}
	now, err := cachetest.TakeInventory(s.Pid())
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, m := range st.Memory {
		sum += m.Resident
		if m.Purpose == "other" && m.Resident > max(st.RSS/20, 2<<20) {
			t.Errorf("%d bytes are of unknown purpose: %+v", m.Resident, st.Memory)
		}
	}
	for what, rss := range map[string]int64{"the server says": st.RSS, "/proc says": now.RSS} {
		if off := max(sum-rss, rss-sum); off > max(rss/20, 2<<20) {
			t.Errorf("%s that %d bytes are resident, the sum is %d: %+v", what, rss, sum, st.Memory)
		}
	}
	if sum < 100<<20 {
		t.Errorf("100 MiB were stored, and %d bytes are accounted for", sum)
	}
	t.Logf("%d resident, %d accounted for: %+v", st.RSS, sum, st.Memory)
}
