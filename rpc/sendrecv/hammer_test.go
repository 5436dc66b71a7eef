package sendrecv_test

import (
	"sync"
	"testing"

	"github.com/remora-kv/remora/rpc/sendrecv"
	"github.com/remora-kv/remora/test/scale"
)

// Every byte of every argument and every result, from many connections, with and
// without inline data and announcements.
func TestHammer(t *testing.T) {
	calls := scale.Times(400)
	if testing.Short() || scale.Race {
		calls = 80
	}
	for _, p := range []struct {
		name   string
		server sendrecv.ServerConfig
		conn   sendrecv.ConnConfig
	}{
		{"plain", sendrecv.ServerConfig{}, sendrecv.ConnConfig{}},
		{"announced", sendrecv.ServerConfig{Expect: func(int, [][]byte) {}}, sendrecv.ConnConfig{}},
		{"referenced", sendrecv.ServerConfig{Inline: -1}, sendrecv.ConnConfig{NoInline: true}},
		{"long", sendrecv.ServerConfig{MaxMessage: 40000, Window: 64}, sendrecv.ConnConfig{MaxMessage: 40000}},
	} {
		t.Run(p.name, func(t *testing.T) {
			eachFabric(t, func(t *testing.T, r *rig) {
				r.HandleMake()
				p.server.Cores = 2
				s := r.serve(p.server)
				var wg sync.WaitGroup
				for i := range 6 {
					p.conn.Window, p.conn.Core = 1+3*i, sendrecv.AnyCore
					c := r.dial(p.conn)
					wg.Go(func() {
						if err := hammer(c, calls, uint64(i)); err != nil {
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
