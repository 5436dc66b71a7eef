package provider_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
)

func TestOpenGivesTheFabricAskedFor(t *testing.T) {
	set := provider.New()
	for name, want := range map[string]string{
		"loop": "loop", "shm": "shm", "tcp": "tcp",
		"shm:/run/remora.sock": "shm", "tcp://127.0.0.1:7000": "tcp", "loop:a": "loop",
	} {
		d, err := set.Open(name)
		if err != nil {
			t.Errorf("Open(%q): %v", name, err)
			continue
		}
		if got := d.Fabric(); got != want {
			t.Errorf("Open(%q).Fabric() = %q, want %q", name, got, want)
		}
		if err := d.Close(); err != nil {
			t.Errorf("Open(%q): Close: %v", name, err)
		}
	}
}

func TestOpenRefusesWhatItDoesNotKnow(t *testing.T) {
	set := provider.New()
	for _, name := range []string{"", "ib", "udp://host:1", "tcp://", "shm:", "shm:/s?path=rfp", "tcp://host:1?device=mlx5_0", "loop:a?x="} {
		if d, err := set.Open(name); err == nil {
			t.Errorf("Open(%q) gave a device of %s, want an error", name, d.Fabric())
		} else if !errors.Is(err, fabric.ErrInvalid) {
			t.Errorf("Open(%q): %v, want an error that wraps ErrInvalid", name, err)
		}
	}
}

func TestUnknownFabricErrorNamesTheKnownOnes(t *testing.T) {
	_, err := provider.New().Open("infiniband")
	for _, name := range provider.Names() {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("error %q does not name %q", err, name)
		}
	}
}

// Two devices of one set share the loop network, two sets do not.
func TestLoopNetworkBelongsToTheSet(t *testing.T) {
	set := provider.New()
	server := open(t, set, "loop")
	l, err := server.Listen(fabric.Addr{Fabric: "loop", Name: "here"}, fabric.ListenConfig{})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if r, err := l.Accept(context.Background()); err == nil {
			_ = r.Reject([]byte("seen"))
		}
	}()
	var rejected *fabric.RejectedError
	if err := dial(t, open(t, set, "loop")); !errors.As(err, &rejected) {
		t.Errorf("dial from the same set: %v, want the rejection of the listener", err)
	}
	if err := dial(t, open(t, provider.New(), "loop")); !errors.Is(err, fabric.ErrRefused) {
		t.Errorf("dial from another set: %v, want ErrRefused", err)
	}
}

func open(t *testing.T, set *provider.Set, name string) fabric.Device {
	t.Helper()
	d, err := set.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func dial(t *testing.T, d fabric.Device) error {
	t.Helper()
	domain, err := d.NewDomain()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := d.NewCQ(256)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.Dial(t.Context(), fabric.Addr{Fabric: "loop", Name: "here"},
		fabric.QPConfig{Transport: fabric.RC, Domain: domain, SendCQ: cq, RecvCQ: cq}, nil)
	return err
}
