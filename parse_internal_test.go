package remora

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/internal/path"
)

// FuzzResults gives any bytes to all that reads results.
func FuzzResults(f *testing.F) {
	f.Add([]byte(nil), uint8(0))
	f.Add(command.AppendFound(nil, &command.Item{Value: []byte("v"), Version: 1, Flags: 2, TTL: 3}), uint8(4))
	f.Add(command.AppendCounted(nil, -1, 7), uint8(0))
	f.Add(command.AppendStatus([]byte(`{"protocol":1,"cores":2,"max_value":1}`), command.OK), uint8(0))
	f.Add(command.AppendStatus(nil, command.Draining), uint8(0))
	f.Fuzz(func(t *testing.T, result []byte, head uint8) {
		d := &target{name: "loop:fuzz"}
		dst := append(bytes.Repeat([]byte{'h'}, int(head)), result...)
		item, err := d.found(dst, int(head))
		switch {
		case err == nil && (len(item.Value) < int(head) || len(item.Value) > len(dst) || item.TTL < 0):
			t.Errorf("%d bytes behind %d make a value of %d for %v", len(result), head, len(item.Value), item.TTL)
		case err != nil && item.Value != nil:
			t.Errorf("an item with %v", err)
		}
		_, _ = d.stored(result)
		_, _ = d.counted(result)
		_ = d.done(command.Delete, result)
		if w, err := path.ParseWelcome(result); err == nil && (w.Cores < 1 || w.Core < 0 || w.Core >= w.Cores || w.MaxKey < 1 || w.MaxValue < 1) {
			t.Errorf("welcome %+v", w)
		}
		if s := refusal(result); s != command.OK && len(result) == 0 {
			t.Errorf("nothing is %v", s)
		}
	})
}

func TestDurations(t *testing.T) {
	longest := time.Duration(math.MaxInt64).Truncate(time.Millisecond)
	for ms, d := range map[uint64]time.Duration{0: 0, 1: time.Millisecond, 1 << 63: longest, math.MaxUint64: longest} {
		if got := duration(ms); got != d {
			t.Errorf("%d ms: %v, want %v", ms, got, d)
		}
	}
	for d, ms := range map[time.Duration]uint64{
		0: 0, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2, time.Hour: 3_600_000, math.MaxInt64: 9223372036855,
	} {
		if got, err := millis(d); err != nil || got != ms {
			t.Errorf("%v: %d ms, %v; want %d", d, got, err, ms)
		}
	}
}

// A user who is not root gets an address in a directory that only this user can write.
func TestDefaultAddr(t *testing.T) {
	dirs, temp, uid := t.TempDir(), t.TempDir(), max(os.Getuid(), 7)
	own := filepath.Join(dirs, strconv.Itoa(uid))
	check := func(want, got string) {
		t.Helper()
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	check("shm:/run/remora.sock", defaultAddr(0, "/run/user/0", dirs, temp))
	check("shm:/run/user/7/remora.sock", defaultAddr(7, "/run/user/7", dirs, temp))
	made := filepath.Join(temp, "remora-"+strconv.Itoa(uid))
	check("shm:"+made+"/remora.sock", defaultAddr(uid, "", dirs, temp))
	if info, err := os.Stat(made); err != nil || info.Mode() != os.ModeDir|0o700 {
		t.Errorf("the directory is %v, %v", info, err)
	}
	check("shm:"+made+"/remora.sock", defaultAddr(uid, "", dirs, temp))
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		// It is of another user yet.
		check("shm:"+made+"/remora.sock", defaultAddr(uid, "", dirs, temp))
		if err := os.Chown(own, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	check("shm:"+own+"/remora.sock", defaultAddr(uid, "", dirs, temp))
	if _, err := path.ParseAddr(DefaultAddr(), new(path.Config)); err != nil {
		t.Error(err)
	}
}

// The error of a malformed result says what is wrong with it.
func TestMalformed(t *testing.T) {
	for _, c := range []struct {
		op     command.Proc
		result string
		want   string
	}{
		{command.Get, "", "malformed result (0 bytes, want at least 7)"},
		{command.Incr, "abc", "malformed result (3 bytes, want at least 15)"},
		{command.Delete, "ab\x80", "malformed result (3 bytes, status byte 0x80)"},
	} {
		err := (&target{name: "loop:x"}).resultError(c.op, []byte(c.result))
		if !errors.Is(err, ErrProtocol) || !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v of %q: %v, want %q", c.op, c.result, err, c.want)
		}
	}
}
