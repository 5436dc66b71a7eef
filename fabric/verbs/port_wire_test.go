//go:build rdma && wire

package verbs_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/verbs"
)

// await waits for a state of the system, which nobody announces.
func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for tries := 0; !cond(); tries++ {
		if tries == 600 {
			t.Fatalf("timed out waiting for %s", what)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// portIs reports whether a port has a state, such as ACTIVE.
func portIs(device, state string) func() bool {
	return func() bool {
		b, _ := os.ReadFile("/sys/class/infiniband/" + device + "/ports/1/state")
		return strings.Contains(string(b), state)
	}
}

// wireFlap takes the client's link down for a moment: the connection goes on.
func wireFlap(t *testing.T, w *wire) {
	s, at := w.connect(t, fabric.RC)
	if w.server {
		w.meet(t, "done")
		if s.qp.State() != fabric.StateReady {
			t.Errorf("the server's queue pair has ended: %v", s.qp.Err())
		}
		return
	}
	iface, device := os.Getenv("ROCEVM_IFACE"), os.Getenv("ROCEVM_DEVICE")
	command(t, "ip", "link", "set", iface, "down")
	await(t, "the port to go down", portIs(device, "DOWN"))
	command(t, "ip", "link", "set", iface, "up")
	await(t, "the port to return", portIs(device, "ACTIVE"))
	if err := s.run(fabric.WR{Op: fabric.OpWrite, Local: s.mem.Seg(0, 64), Remote: at}); err != nil {
		t.Error(err)
	}
	w.meet(t, "done")
}

// wireAddress gives an adapter another IP address, and so another GID: devices that are open notice, and new
// connections use it, with and without the connection manager. The adapter stays until the guest ends: it cannot
// be taken away before the process, of which librdmacm keeps it open.
func wireAddress(t *testing.T, _ *wire) {
	command(t, "ip", "link", "add", "veth8", "type", "veth", "peer", "name", "veth9")
	command(t, "ip", "link", "set", "veth9", "up")
	command(t, "ip", "link", "set", "veth8", "up")
	command(t, "ip", "addr", "add", "10.88.0.1/32", "dev", "veth8")
	command(t, "rdma", "link", "add", "rxe8", "type", "rxe", "netdev", "veth8")
	await(t, "rxe8", portIs("rxe8", "ACTIVE"))
	for _, cm := range []string{"on", "off"} {
		t.Run("cm="+cm, func(t *testing.T) { changeAddress(t, cm) })
	}
}

// changeAddress gives veth8 its other address.
func changeAddress(t *testing.T, cm string) {
	var log [2]bytes.Buffer
	var ends [2]*side
	for i := range ends {
		s, err := newSideOn(verbs.Config{Device: "rxe8", CM: cm, Log: slog.New(slog.NewTextHandler(&log[i], nil))})
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = s
	}
	join := func() {
		l := ends[0].listen(t)
		defer func() { _ = l.Close() }()
		accepted := make(chan error, 1)
		go func() { accepted <- ends[0].accept(l, nil) }()
		if err := errors.Join(ends[1].dial(l.Addr().Name, fabric.RC, nil), <-accepted); err != nil {
			t.Fatal(err)
		}
		if err := ends[1].run(fabric.WR{Op: fabric.OpWrite, Local: ends[1].mem.Seg(0, 64), Remote: ends[0].mem.Remote()}); err != nil {
			t.Fatal(err)
		}
	}
	join()
	before := ends[0].dev.Choice().GID.Addr.Unmap()
	now := netip.MustParseAddr("10.88.0.1")
	if before == now {
		now = now.Next()
	}
	command(t, "ip", "addr", "add", now.String()+"/32", "dev", "veth8")
	command(t, "ip", "addr", "del", before.String()+"/32", "dev", "veth8")
	for _, s := range ends {
		await(t, "the new GID", func() bool { return s.dev.Choice().GID.Addr.Unmap() == now })
		if err := s.qp.Close(); err != nil {
			t.Error(err)
		}
	}
	join()
	for i, s := range ends {
		s.close() // nothing is logged any more
		if !strings.Contains(log[i].String(), "RDMA port has another address") {
			t.Errorf("the log says %s", &log[i])
		}
	}
}
