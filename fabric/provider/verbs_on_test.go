//go:build rdma

package provider_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
)

// Open gives a device where there is an adapter, and otherwise an error that says what is missing.
func TestBinaryWithVerbsOpensOrExplains(t *testing.T) {
	for _, name := range []string{"rdma", "verbs", "rdma://127.0.0.1:0"} {
		var said bytes.Buffer
		set := provider.New()
		set.Log = slog.New(slog.NewTextHandler(&said, nil))
		d, err := set.Open(name)
		if err == nil {
			if !strings.Contains(said.String(), "device="+d.Name()) || !strings.Contains(said.String(), "gid=") {
				t.Errorf("Open(%q) logged %q, want the adapter that it chose", name, &said)
			}
			if d.Fabric() != "verbs" {
				t.Errorf("Open(%q) gave %s", name, d.Fabric())
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		if !errors.Is(err, fabric.ErrUnsupported) {
			t.Fatalf("Open(%q): %v, want ErrUnsupported", name, err)
		}
		if !strings.Contains(err.Error(), "install") && !strings.Contains(err.Error(), "modprobe") &&
			!strings.Contains(err.Error(), "check") && !strings.Contains(err.Error(), "give") {
			t.Errorf("Open(%q): %q does not say what to do", name, err)
		}
	}
	if _, err := provider.New().Open("rdma://127.0.0.1:0?cm=maybe"); !errors.Is(err, fabric.ErrInvalid) {
		t.Errorf("an option that makes no sense: %v, want ErrInvalid", err)
	}
}
