package command_test

import (
	"bytes"
	"testing"

	"github.com/remora-kv/remora/internal/command"
)

// FuzzRequests: what a parser takes is written again as the same bytes, but for
// fields that are there and zero (C2).
func FuzzRequests(f *testing.F) {
	for _, r := range golden {
		f.Add(r.message())
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		if s, err := command.ParsePut(msg); err == nil {
			again := command.AppendPut(nil, s.Key, s.Value, &s)
			if back, err := command.ParsePut(again); err != nil || !same(&back, &s) || len(again) > len(msg) {
				t.Errorf("put %x was written again as %x, %v", msg, again, err)
			}
			if len(again) == len(msg) && !bytes.Equal(again, msg) {
				t.Errorf("put %x and %x are the same", msg, again)
			}
		}
		if key, version, err := command.ParseDelete(msg); err == nil {
			if again := command.AppendDelete(nil, key, version); !bytes.Equal(again, msg) {
				t.Errorf("delete %x was written again as %x", msg, again)
			}
		}
		if key, ttl, err := command.ParseTouch(msg); err == nil {
			if again := command.AppendTouch(nil, key, ttl); !bytes.Equal(again, msg) {
				t.Errorf("touch %x was written again as %x", msg, again)
			}
		}
		if key, delta, err := command.ParseIncr(msg); err == nil {
			if again := command.AppendIncr(nil, key, delta); !bytes.Equal(again, msg) {
				t.Errorf("incr %x was written again as %x", msg, again)
			}
		}
		_, _ = command.ParseHello(msg)
	})
}

func same(a, b *command.Store) bool {
	return bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, b.Value) && a.Condition == b.Condition &&
		a.Version == b.Version && a.Flags == b.Flags && a.TTL == b.TTL
}

// FuzzResults likewise.
func FuzzResults(f *testing.F) {
	for _, r := range golden {
		f.Add(r.message())
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		item, s, err := command.ParseFound(msg)
		if value, version, ok := command.ParsePlain(msg); ok &&
			(err != nil || s != command.OK || !sameItem(&item, &command.Item{Value: value, Version: version})) {
			t.Errorf("%x is plain, and %v, %v, %+v", msg, s, err, item)
		}
		if err == nil {
			again := command.AppendStatus(nil, s)
			if s == command.OK {
				again = command.AppendFound(nil, &item)
			}
			if back, s2, err := command.ParseFound(again); err != nil || s2 != s || !sameItem(&back, &item) ||
				len(again) == len(msg) && !bytes.Equal(again, msg) || len(again) > len(msg) {
				t.Errorf("found %x was written again as %x, %v", msg, again, err)
			}
		}
		if version, s, err := command.ParseStored(msg); err == nil {
			again := command.AppendStatus(nil, s)
			if s == command.OK {
				again = command.AppendStored(nil, version)
			}
			if !bytes.Equal(again, msg) {
				t.Errorf("stored %x was written again as %x", msg, again)
			}
		}
		if sum, version, s, err := command.ParseCounted(msg); err == nil {
			again := command.AppendStatus(nil, s)
			if s == command.OK {
				again = command.AppendCounted(nil, sum, version)
			}
			if !bytes.Equal(again, msg) {
				t.Errorf("counted %x was written again as %x", msg, again)
			}
		}
		if body, s, err := command.ParseStatus(msg); err == nil {
			if again := command.AppendStatus(bytes.Clone(body), s); !bytes.Equal(again, msg) {
				t.Errorf("status %x was written again as %x", msg, again)
			}
		}
	})
}

func sameItem(a, b *command.Item) bool {
	return bytes.Equal(a.Value, b.Value) && a.Version == b.Version && a.Flags == b.Flags && a.TTL == b.TTL && a.Place == b.Place
}
