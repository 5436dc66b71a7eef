package lru8

import (
	"testing"

	"github.com/remora-kv/remora/store"
)

// TestArena checks that a table allocates two blocks and frees them.
func TestArena(t *testing.T) {
	a := store.NewArena(nil)
	table, err := New(store.Config{Arena: a, Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	usage := a.Usage()
	if len(usage) != 2 || usage[0].Purpose != "lru8 index" || usage[1].Purpose != "lru8 items" {
		t.Errorf("%+v", usage)
	}
	if total := usage[0].Bytes + usage[1].Bytes + overhead; total != 1<<20 {
		t.Errorf("%d bytes of 1 MiB", total)
	}
	if err := table.Close(); err != nil {
		t.Error(err)
	}
	if usage := a.Usage(); len(usage) != 0 {
		t.Errorf("left after Close: %+v", usage)
	}
}

// TestItemBytes checks that whole blocks are counted.
func TestItemBytes(t *testing.T) {
	r := open(t, store.Store, 1<<20)
	want := int64(0)
	for i := range 100 {
		r.MustPut(key(i), i)
		want += int64(blockSize(16, i))
		if st := r.Stats(); st.ItemBytes != want {
			t.Fatalf("%d items: %d bytes, want %d", i+1, st.ItemBytes, want)
		}
	}
}
