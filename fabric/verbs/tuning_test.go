//go:build rdma

package verbs

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/remora-kv/remora/fabric"
)

func addrOf(t *testing.T, options string) fabric.Addr {
	t.Helper()
	a, err := fabric.ParseAddr("rdma://127.0.0.1:0" + options)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestAddressOptions: numbers outside their range are refused, and the error says the range.
func TestAddressOptions(t *testing.T) {
	for options, want := range map[string]string{
		"?sl=16":       "sl=16 in rdma://127.0.0.1:0?sl=16 is not a service level; give a number from 0 to 15",
		"?sl=-1":       "from 0 to 15",
		"?sl=":         "from 0 to 15",
		"?tclass=256":  "from 0 to 255",
		"?tclass=high": "from 0 to 255",
		"?timeout=0":   "from 1 to 31",
		"?timeout=32":  "from 1 to 31",
		"?retry=8":     "from 0 to 7",
		"?pkey=65536":  "from 0 to 65535",
		"?inline=4097": "from 0 to 4096",
		"?vector=-1":   "from 0 to 65535",
		"?hops=3":      "use device, port, gid, cm, sl, tclass, pkey, vector, inline, timeout, retry",
	} {
		_, err := ConfigOf(addrOf(t, options))
		if !errors.Is(err, fabric.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", options, err, want)
		}
	}
	cfg, err := ConfigOf(addrOf(t, "?sl=3&tclass=104&pkey=0&vector=1&inline=64&timeout=18&retry=5"))
	want := Tuning{
		SL: Setting{3, true}, TClass: Setting{104, true}, PKey: Setting{0, true}, Vector: Setting{1, true},
		Inline: Setting{64, true}, Timeout: Setting{18, true}, Retry: Setting{5, true},
	}
	if err != nil || cfg.Tuning != want {
		t.Errorf("%+v, %v; want %+v", cfg.Tuning, err, want)
	}
}

// openTuned opens the adapter of the tests with options of an address.
func openTuned(t *testing.T, options string) (*Device, error) {
	t.Helper()
	cfg, err := ConfigOf(addrOf(t, options))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Device = os.Getenv("REMORA_RDMA_DEVICE")
	d, err := New(cfg)
	if err == nil {
		t.Cleanup(func() { _ = d.Close() })
	}
	return d, err
}

func hostOn(t *testing.T, options string) *host {
	t.Helper()
	d, err := openTuned(t, options)
	if err != nil {
		t.Fatal(err)
	}
	s := &host{t: t, dev: d}
	if s.dom, err = d.NewDomain(); err != nil {
		t.Fatal(err)
	}
	if s.cq, err = d.NewCQ(4096); err != nil {
		t.Fatal(err)
	}
	return s
}

func (q *QP) attributes(t *testing.T) hwAttributes {
	t.Helper()
	var a hwAttributes
	if err := q.withHW(func() (err error) { a, err = q.hw.attributes(queryAll); return err }); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestQueuePairsAreTuned asks the adapter what it was told of the queue pairs that were connected, with
// and without the connection manager. It does not ask for the service level: Soft-RoCE, which has no
// use for one, forgets it.
func TestQueuePairsAreTuned(t *testing.T) {
	for _, c := range []struct {
		options                          string
		tclass, timeout, retries, inline int
	}{
		{"?cm=off", 0, 14, 6, wantInline},
		{"?cm=off&sl=3&tclass=104&pkey=0&inline=64&timeout=18&retry=5", 104, 18, 5, 64},
		{"?cm=on&sl=3&tclass=104&pkey=0&inline=64&timeout=18&retry=5", 104, 18, 5, 64},
	} {
		t.Run(c.options, func(t *testing.T) {
			a, b := hostOn(t, c.options), hostOn(t, c.options)
			qa, qb := connect(t, a, b, a.listen(0))
			for _, q := range []*QP{qa, qb} {
				got := q.attributes(t)
				want := got
				want.tclass, want.timeout, want.retries, want.pkey = c.tclass, c.timeout, c.retries, 0
				if got != want {
					t.Errorf("the adapter says %+v, want %+v", got, want)
				}
				if lim := q.dev.Limits(); lim.MaxInline != c.inline {
					t.Errorf("requests may have %d bytes inline, want %d", lim.MaxInline, c.inline)
				}
			}
		})
	}
}

// TestPathHasServiceLevel: what Soft-RoCE forgets is on its way to the adapter.
func TestPathHasServiceLevel(t *testing.T) {
	d, err := openTuned(t, "?sl=5&tclass=96")
	if err != nil {
		t.Fatal(err)
	}
	path := d.adapter.Load().path(d.adapter.Load().choice.GID.Addr.As16(), 0)
	if c := path.c(); c.sl != 5 || c.tclass != 96 {
		t.Errorf("service level %d, traffic class %d; want 5 and 96", c.sl, c.tclass)
	}
}

// TestAdapterRefusesOptions: what the adapter does not have is refused when the device is opened, and a
// device is not used for an address that asks for something else.
func TestAdapterRefusesOptions(t *testing.T) {
	for options, want := range map[string]string{
		"?sl=8":         "priorities 0 to 7",
		"?pkey=65535":   "its table has the indexes 0 to",
		"?vector=65535": "completion vectors 0 to",
		"?inline=4096":  "the adapter takes at most",
	} {
		_, err := openTuned(t, options)
		if !errors.Is(err, fabric.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", options, err, want)
		}
	}
	d, err := openTuned(t, "?tclass=104")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Listen(addrOf(t, "?tclass=96"), fabric.ListenConfig{}); !errors.Is(err, fabric.ErrInvalid) {
		t.Errorf("an address with another traffic class than the device has: %v, want ErrInvalid", err)
	}
	l, err := d.Listen(addrOf(t, "?tclass=104"), fabric.ListenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}

// TestVectorsInTurn: completion queues take the vectors of the adapter in turn, or all the same one.
func TestVectorsInTurn(t *testing.T) {
	for options, want := range map[string][]int{"": {0, 1, 2, 0, 1}, "?vector=1": {1, 1, 1, 1, 1}} {
		cfg, err := ConfigOf(addrOf(t, options))
		if err != nil {
			t.Fatal(err)
		}
		d := &Device{}
		d.adapter.Store(&adapter{tuning: cfg.Tuning, vectors: 3})
		for i, v := range want {
			if got := d.vector(); got != v {
				t.Errorf("%q: queue %d has vector %d, want %d", options, i, got, v)
			}
		}
	}
}

// TestAdapterIsAskedForWhatIsNeeded: a queue pair of few segments and no inline data makes the adapter keep room for
// no more. Soft-RoCE, as other adapters, gives the bytes of a segment to inline data.
func TestAdapterIsAskedForWhatIsNeeded(t *testing.T) {
	s := newHost(t)
	lim := s.dev.Limits()
	for _, c := range []struct {
		segs, inline        int
		wantSegs, mostBytes int
	}{
		{0, 0, lim.MaxSegs, lim.MaxInline},
		{1, fabric.NoInline, 1, 32},
		{2, 64, 2, 96},
	} {
		cfg := s.config()
		cfg.MaxSegs, cfg.MaxInline = c.segs, c.inline
		q, err := s.dev.newConnected(cfg)
		if err != nil {
			t.Fatal(err)
		}
		a := q.attributes(t)
		if a.recvSegs != c.wantSegs || a.inline > c.mostBytes || a.inline < c.inline {
			t.Errorf("asked for %d segments and %d bytes inline, the adapter says %+v", c.segs, c.inline, a)
		}
		q.abandon()
	}
}

// TestGivenUpBecauseOfThePeer: a request that the adapter repeated in vain, while the peer says that a request was wrong,
// is that one. Soft-RoCE does not answer a READ that fails in the middle, and gives it up before the peer's word counts.
func TestGivenUpBecauseOfThePeer(t *testing.T) {
	var q QP
	if got := q.sendStatus(wcRetry, fabric.OpRead); got != fabric.StatusPeerLost {
		t.Errorf("a READ without an answer: %v", got)
	}
	q.accused.Store(true)
	for op, want := range map[fabric.Op]fabric.Status{
		fabric.OpRead: fabric.StatusRemoteAccess, fabric.OpSend: fabric.StatusRemoteInvalid,
	} {
		if got := q.sendStatus(wcRetry, op); got != want {
			t.Errorf("%v without an answer from a peer that complains: %v, want %v", op, got, want)
		}
	}
}
