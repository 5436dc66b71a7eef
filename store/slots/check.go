package slots

import (
	"encoding/binary"
	"fmt"

	"github.com/remora-kv/remora/store"
)

// Check compares every slot with its shadow, and verifies that searches reach every
// item (O2).
func (t *Table) Check() error {
	var items, keyBytes, valueBytes int64
	for i := range t.n {
		if err := t.checkSlot(i); err != nil {
			return err
		}
		if s := t.shadow(i); s.state() == occupied {
			items++
			keyBytes += int64(s.keySize())
			valueBytes += int64(s.valueSize())
		}
	}
	if st := &t.stats; items != st.Items || keyBytes != st.KeyBytes || valueBytes != st.ValueBytes {
		return corrupt("%d items, keys of %d and values of %d bytes; Stats says %d, %d and %d",
			items, keyBytes, valueBytes, st.Items, st.KeyBytes, st.ValueBytes)
	}
	return nil
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("slots: %w: %s", store.ErrCorrupt, fmt.Sprintf(format, args...))
}

func (t *Table) checkSlot(i uint64) error {
	s, slot := t.shadow(i), t.slot(i)
	if !s.intact() {
		return corrupt("the shadow of slot %d does not match its guard", i)
	}
	want := head(s.state())
	if s.state() == occupied {
		want = s.head()
	}
	if got := headOf(slot); got != want {
		return corrupt("slot %d begins with %#x, want %#x", i, uint64(got), uint64(want))
	}
	if s.state() != occupied {
		return nil
	}
	switch {
	case !t.fits(i) || binary.LittleEndian.Uint64(slot[atSum:]) != s.sum():
		return corrupt("slot %d, key %.20q: checksum mismatch", i, t.keyOf(i))
	case s.version() <= t.cfg.FirstVersion || s.version() > t.last:
		return corrupt("slot %d has version %d, the last one assigned is %d", i, s.version(), t.last)
	}
	return t.checkPath(i)
}

// checkPath verifies that probing from the home of an item reaches it.
func (t *Table) checkPath(i uint64) error {
	home := t.home(t.keyOf(i))
	for d := range t.window {
		at := t.after(home, d)
		if at == i {
			return nil
		}
		if t.shadow(at).state() == empty {
			return corrupt("slot %d, key %.20q: slot %d before it is empty", i, t.keyOf(i), at)
		}
	}
	return corrupt("slot %d, key %.20q: not in the window of its home, %d", i, t.keyOf(i), home)
}
