package herd_test

import (
	"sync"
	"testing"

	"github.com/remora-kv/remora/rpc/herd"
	"github.com/remora-kv/remora/test/rpctest"
	"github.com/remora-kv/remora/test/scale"
)

// Every byte of every argument and every result, from many connections, with and
// without pipeline, inline data and loss.
func TestHammer(t *testing.T) {
	calls := scale.Times(400)
	if testing.Short() || scale.Race {
		calls = 80
	}
	for _, p := range []struct {
		name, plan string
		server     herd.ServerConfig
		conn       herd.ConnConfig
	}{
		{"plain", "", herd.ServerConfig{}, herd.ConnConfig{}},
		{"prefetch", "", herd.ServerConfig{Expect: func(int, int, uint64) {}}, herd.ConnConfig{}},
		{"referenced", "", herd.ServerConfig{Inline: -1}, herd.ConnConfig{NoInline: true}},
		{"loss", lossPlans["all"], herd.ServerConfig{Expect: func(int, int, uint64) {}, Inline: -1}, herd.ConnConfig{NoInline: true}},
	} {
		t.Run(p.name, func(t *testing.T) {
			eachFabric(t, func(t *testing.T, r *rig) {
				r.Plan = p.plan
				r.HandleMake()
				p.server.Cores = 2
				s := r.serve(p.server)
				var wg sync.WaitGroup
				for i := range 6 {
					p.conn.Window = 1 + 3*i
					c := r.dial(p.conn)
					wg.Go(func() {
						if err := rpctest.Hammer(c, sendersOf(c), calls, uint64(i)); err != nil {
							t.Errorf("client %d: %v; %+v", i, err, c.Stats())
						}
					})
				}
				wg.Wait()
				if st := s.Stats(); st.Failures != 0 || st.Cut+st.Lost != 0 || st.Calls != uint64(6*calls) {
					t.Errorf("%+v", st)
				}
			})
		})
	}
}
