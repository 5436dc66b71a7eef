//go:build rdma && wire

package herd_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/herd"
	"github.com/remora-kv/remora/test/rpctest"
)

// TestWire runs on two machines at once, joined by a wire that loses packets (rpctest.Wire).
func TestWire(t *testing.T) { rpctest.Wire(t, "7102", wireServer, wireClients) }

// procNoise has the kernel of the server disturb what it sends, as its argument says.
const procNoise uint16 = 70

// wireRetry is long enough for an emulated machine to answer what was not lost.
const wireRetry = 20 * time.Millisecond

// noise has the kernel disturb what leaves this machine; "" ends it.
func noise(how string) error {
	if out, err := exec.Command("modprobe", "sch_netem").CombinedOutput(); err != nil {
		return fmt.Errorf("modprobe sch_netem: %w: %s", err, out)
	}
	args := []string{"qdisc", "replace", "dev", os.Getenv("ROCEVM_IFACE"), "root"}
	if how == "" {
		args = append(args, "pfifo")
	} else {
		args = append(append(args, "netem", "limit", "10000"), strings.Fields(how)...)
	}
	if out, err := exec.Command("tc", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("tc %v: %w: %s", args, err, out)
	}
	return nil
}

func wireServer(t *testing.T, base *rpctest.Rig) {
	r := &rig{Rig: base}
	r.HandleCount()
	r.Mux.Handle(procNoise, func(c *rpc.Call, out []byte) ([]byte, error) { return out, noise(string(c.Request)) })
	wait := r.HandleOver()
	s := r.serve(herd.ServerConfig{Cores: 2})
	wait()
	await(t, "the clients to leave", func() bool { return s.Stats().Clients == 0 })
	st := s.Stats()
	t.Logf("%+v", st)
	if st.Failures+st.Cut+st.Lost+st.CutByReplyQP != 0 || st.Resent == 0 {
		t.Errorf("%+v", st)
	}
}

// wireNoises are what the wire does to packets of both directions: netem's words.
var wireNoises = []struct{ name, how string }{
	{"nothing", ""},
	{"1%", "loss 1%"},
	{"10%", "loss 10%"},
	{"bursts", "loss gemodel 3% 30%"},
	{"copies", "duplicate 10% loss 1%"},
	{"disorder", "delay 2ms reorder 75% loss 1%"},
}

// Every call takes effect once, in order, and its own reply is taken for it, whatever the
// wire between two machines does to their packets (H2, H3, H4).
func wireClients(t *testing.T, base *rpctest.Rig) {
	r := &rig{Rig: base}
	control := rpctest.UntilThere(base, func(context.Context) (*herd.Conn, error) {
		return r.tryDial(herd.ConnConfig{RetryAfter: wireRetry, GiveUp: rpctest.WireTime})
	})
	conns := make([]*herd.Conn, 3)
	for i := range conns {
		conns[i] = r.dial(herd.ConnConfig{Window: 1 + 7*i, RetryAfter: wireRetry, GiveUp: rpctest.WireTime})
	}
	for n, w := range wireNoises {
		t.Run(w.name, func(t *testing.T) {
			if _, err := call(control, 0, procNoise, []byte(w.how)); err != nil {
				t.Fatal(err)
			}
			if err := noise(w.how); err != nil {
				t.Fatal(err)
			}
			before := retriesOf(conns)
			for i, c := range conns {
				if err := countUp(c, uint32(100*n+i), 40, 450*i); err != nil {
					t.Errorf("window %d: %v; %+v", c.Window(), err, c.Stats())
				}
			}
			t.Logf("%d requests were sent again", retriesOf(conns)-before)
			if w.how == "loss 10%" && lostPackets(t) == 0 {
				t.Error("nothing was lost, so nothing is proved")
			}
		})
	}
	for _, err := range []error{noise(""), errOf(call(control, 0, procNoise, nil))} {
		if err != nil {
			t.Error(err)
		}
	}
	r.Over(func(proc uint16, arg []byte) ([]byte, error) { return call(control, 1, proc, arg) })
}

// lostPackets is how many packets the kernel of this machine has dropped since noise.
func lostPackets(t *testing.T) (n int) {
	t.Helper()
	out, err := exec.Command("tc", "-s", "qdisc", "show", "dev", os.Getenv("ROCEVM_IFACE")).CombinedOutput()
	if err != nil {
		t.Fatalf("tc: %v: %s", err, out)
	}
	_, rest, _ := strings.Cut(string(out), "(dropped ")
	if _, err := fmt.Sscanf(rest, "%d", &n); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return n
}

func errOf(_ []byte, err error) error { return err }

func retriesOf(conns []*herd.Conn) (n uint64) {
	for _, c := range conns {
		n += c.Stats().Retries
	}
	return n
}
