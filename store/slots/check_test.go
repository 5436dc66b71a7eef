package slots

import (
	"errors"
	"strings"
	"testing"

	"github.com/remora-kv/remora/store"
)

// TestCheck breaks a table in one place at a time.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(r *rig, keys []store.Key)
		want  string
	}{
		{"value", func(r *rig, k []store.Key) { r.slot(r.find(k[0]))[atValue] ^= 1 }, "checksum"},
		{"checksum", func(r *rig, k []store.Key) { r.slot(r.find(k[0]))[atSum] ^= 1 }, "checksum"},
		{"head", func(r *rig, k []store.Key) { r.slot(r.find(k[0]))[1] ^= 1 }, "begins with"},
		{"empty slot", func(r *rig, _ []store.Key) { r.slot(50)[0] = 1 }, "begins with"},
		{"shadow", func(r *rig, k []store.Key) { r.shadow(r.find(k[0]))[ofHash] ^= 1 }, "guard"},
		{"shadow of an empty slot", func(r *rig, _ []store.Key) { r.shadow(50)[ofSum] = 1 }, "guard"},
		{"path", func(r *rig, k []store.Key) { r.makeTombstone(r.find(k[0])); r.mark(5, empty) }, "before it is empty"},
		{"count", func(r *rig, _ []store.Key) { r.stats.Items++ }, "Stats"},
		{"version", func(r *rig, _ []store.Key) { r.last = 1 }, "version"},
		{"window", func(r *rig, _ []store.Key) { r.window = 1 }, "window"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := open(t, store.Store, 100)
			keys := r.colliding(5, 2)
			r.put(keys[0])
			r.put(keys[1])
			r.MustCheck()
			c.spoil(r, keys)
			if err := r.Check(); !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Check: %v, want %q", err, c.want)
			}
		})
	}
}

// TestArena checks that a table allocates two blocks and frees them.
func TestArena(t *testing.T) {
	r := open(t, store.Store, 4096)
	usage := r.cfg.Arena.Usage()
	if len(usage) != 2 || usage[0].Purpose != "slots" || usage[0].Bytes != 4<<20 || usage[1].Bytes != 4096*shadowSize {
		t.Errorf("%+v", usage)
	}
	if r.cfg.Memory != 4_427_776 { // the package doc says so
		t.Errorf("4096 slots are a memory of %d", r.cfg.Memory)
	}
}
