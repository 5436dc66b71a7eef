package command_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/remora-kv/remora/internal/command"
)

var (
	keys     = []string{"", "k", "key\x00\xff", strings.Repeat("x", command.MaxKey)}
	values   = [][]byte{nil, {0}, []byte("value"), bytes.Repeat([]byte{0xAB}, 5000)}
	versions = []uint64{1, 0xFF, 1 << 32, 1<<48 - 1}
)

func TestPut(t *testing.T) {
	for _, key := range keys {
		for _, value := range values {
			for _, version := range versions {
				for _, flags := range []uint32{0, 1, 1<<32 - 1} {
					for _, ttl := range []uint64{0, 1, 1<<64 - 1} {
						for c := command.Always; c <= command.IfVersion; c++ {
							s := command.Store{Condition: c, Flags: flags, TTL: ttl}
							if c == command.IfVersion {
								s.Version = version
							}
							testPut(t, key, value, s)
						}
					}
				}
			}
		}
	}
}

func testPut(t *testing.T, key string, value []byte, s command.Store) {
	t.Helper()
	b := command.AppendPut([]byte("head"), key, value, &s)
	if n := len("head") + s.Overhead() + len(key) + len(value); len(b) != n || s.Overhead() > command.PutSize {
		t.Fatalf("%+v takes %d bytes, by its overhead %d", s, len(b), n)
	}
	if other := command.AppendPut([]byte("head"), []byte(key), value, &s); !bytes.Equal(b, other) {
		t.Fatalf("a key of bytes makes another request")
	}
	got, err := command.ParsePut(b[len("head"):])
	if err != nil || string(got.Key) != key || !bytes.Equal(got.Value, value) {
		t.Fatalf("put of %d + %d bytes: %d + %d, %v", len(key), len(value), len(got.Key), len(got.Value), err)
	}
	got.Key, got.Value = nil, nil
	if !reflect.DeepEqual(got, s) {
		t.Fatalf("%+v became %+v", s, got)
	}
	if head := s.Overhead() + len(key); head < 100 {
		for n := range head { // without its head or a part of the key it is malformed
			if _, err := command.ParsePut(b[len("head") : len("head")+n]); !errors.Is(err, command.ErrMalformed) {
				t.Fatalf("%d bytes of a put: %v", n, err)
			}
		}
	}
}

func TestSmallRequests(t *testing.T) {
	for _, key := range keys {
		for _, version := range append([]uint64{0}, versions...) {
			b := command.AppendDelete(nil, key, version)
			k, v, err := command.ParseDelete(b)
			if err != nil || string(k) != key || v != version || len(b) != command.DeleteOverhead(version)+len(key) {
				t.Errorf("delete of version %d: %d, %d bytes, %v", version, v, len(k), err)
			}
		}
		for _, ttl := range []uint64{0, 1, 1<<64 - 1} {
			b := command.AppendTouch(nil, key, ttl)
			k, got, err := command.ParseTouch(b)
			if err != nil || string(k) != key || got != ttl || len(b) != command.TouchOverhead+len(key) {
				t.Errorf("touch for %d: %d, %d bytes, %v", ttl, got, len(k), err)
			}
		}
		for _, delta := range []int64{0, 1, -1, 1<<63 - 1, -1 << 63} {
			b := command.AppendIncr(nil, key, delta)
			k, got, err := command.ParseIncr(b)
			if err != nil || string(k) != key || got != delta || len(b) != command.IncrOverhead+len(key) {
				t.Errorf("incr by %d: %d, %d bytes, %v", delta, got, len(k), err)
			}
		}
	}
	for _, key := range keys {
		for n := range command.MaxUses + 1 {
			uses := []uint64{1, 1<<64 - 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}[:n]
			b := command.AppendUses([]byte(key), uses)
			var got [command.MaxUses]uint64
			k, m, err := command.ParseLink(b, &got)
			if err != nil || string(k) != key || m != n || !slices.Equal(got[:m], uses) || len(b) != len(key)+command.UsesSize(n) ||
				string(command.LinkKey(b)) != key {
				t.Errorf("link with %d hashes: %d, %v, %v", n, m, got, err)
			}
		}
	}
	if p, err := command.ParseHello(command.AppendHello(nil)); err != nil || p != command.Protocol {
		t.Errorf("hello: protocol %d, %v", p, err)
	}
}

func TestMalformedRequests(t *testing.T) {
	for name, parse := range map[string]func([]byte) error{
		"put":    func(b []byte) error { _, err := command.ParsePut(b); return err },
		"delete": func(b []byte) error { _, _, err := command.ParseDelete(b); return err },
		"touch":  func(b []byte) error { _, _, err := command.ParseTouch(b); return err },
		"incr":   func(b []byte) error { _, _, err := command.ParseIncr(b); return err },
		"hello":  func(b []byte) error { _, err := command.ParseHello(b); return err },
		"link": func(b []byte) error {
			_, _, err := command.ParseLink(b, new([command.MaxUses]uint64))
			if (err != nil) != (command.LinkKey(b) == nil) {
				t.Errorf("%v: %v, and the key %v", b, err, command.LinkKey(b))
			}
			return err
		},
	} {
		for _, b := range map[string][][]byte{
			"put":    {{}, {0}, {0, 1}, {0, 1, 0}, {0x04, 0, 0}, {0x40, 0, 0}, {3, 0, 0, 1, 2, 3, 4, 5}, {0x10, 0, 0, 1}, {0x20, 0, 0, 1}, {0, 0xFF, 0xFF, 'k'}},
			"delete": {{}, {1, 'k'}, {2, 'k'}, {4, 'k'}, {0x80}, {3}, {3, 1, 2, 3, 4, 5}, {3, 0, 0, 0, 0, 0, 0, 'k'}},
			"touch":  {{}, {1, 2, 3, 4, 5, 6, 7}},
			"incr":   {{}, {1, 2, 3, 4, 5, 6, 7}},
			"hello":  {{}, {1}},
			"link":   {{}, {1}, {1, 2, 3, 4, 5, 6, 7, 1}, {command.MaxUses + 1}, append(make([]byte, 300), 255)},
		}[name] {
			if err := parse(b); !errors.Is(err, command.ErrMalformed) {
				t.Errorf("%s of %v: %v", name, b, err)
			}
		}
	}
}

func TestFound(t *testing.T) {
	for _, value := range values {
		for _, version := range append([]uint64{0}, versions...) {
			for _, flags := range []uint32{0, 1, 1<<32 - 1} {
				for _, ttl := range []uint64{0, 1, 1<<64 - 1} {
					for _, place := range []command.Place{{}, {Off: 64, Len: 80}, {Clock: 1}, {Off: command.MaxPlaceOff, Len: command.MaxPlaceLen, Area: 255, Clock: 1<<32 - 1}} {
						testFound(t, &command.Item{Value: value, Version: version, Flags: flags, TTL: ttl, Place: place})
					}
				}
			}
		}
	}
}

func testFound(t *testing.T, item *command.Item) {
	t.Helper()
	b := command.AppendFound(nil, item)
	if tight := command.AppendFound(make([]byte, 0, len(b)), item); !bytes.Equal(tight, b) {
		t.Errorf("%x where there is no room for more, %x elsewhere", tight, b)
	}
	plain, v, ok := command.ParsePlain(b)
	isPlain := item.Flags == 0 && item.TTL == 0 && item.Place == command.Place{}
	if ok != isPlain || ok && (v != item.Version || !bytes.Equal(plain, item.Value)) {
		t.Errorf("%+v: plain %v, version %d, %d bytes", item, ok, v, len(plain))
	}
	if len(b) > len(item.Value)+command.PlacedSize || isPlain && len(b) > len(item.Value)+command.FoundSize {
		t.Errorf("%d bytes for a value of %d", len(b), len(item.Value))
	}
	got, s, err := command.ParseFound(b)
	if err != nil || s != command.OK || !bytes.Equal(got.Value, item.Value) {
		t.Fatalf("%v, %v, %d bytes", s, err, len(got.Value))
	}
	if len(item.Value) != 0 && &got.Value[0] != &b[0] {
		t.Error("the value is not a prefix of the message")
	}
	if got.Version != item.Version || got.Flags != item.Flags || got.TTL != item.TTL || got.Place != item.Place {
		t.Errorf("%+v became %+v", item, got)
	}
}

func TestSmallResults(t *testing.T) {
	for _, version := range versions {
		if v, s, err := command.ParseStored(command.AppendStored(nil, version)); err != nil || s != command.OK || v != version {
			t.Errorf("stored %d: %d, %v, %v", version, v, s, err)
		}
		for _, sum := range []int64{0, -1, 1<<63 - 1, -1 << 63} {
			n, v, s, err := command.ParseCounted(command.AppendCounted(nil, sum, version))
			if err != nil || s != command.OK || v != version || n != sum {
				t.Errorf("counted %d: %d, %d, %v, %v", sum, n, v, s, err)
			}
		}
	}
	for s := command.OK + 1; s.String() != "unknown"; s++ {
		b := command.AppendStatus(nil, s)
		_, found, err1 := command.ParseFound(b)
		_, stored, err2 := command.ParseStored(b)
		_, _, counted, err3 := command.ParseCounted(b)
		body, status, err4 := command.ParseStatus(b)
		if err := errors.Join(err1, err2, err3, err4); err != nil || found != s || stored != s || counted != s || status != s || len(body) != 0 {
			t.Errorf("%v: %v %v %v %v, %v", s, found, stored, counted, status, err)
		}
	}
	body, s, err := command.ParseStatus(command.AppendStatus([]byte("{}"), command.OK))
	if err != nil || s != command.OK || string(body) != "{}" {
		t.Errorf("text: %q, %v, %v", body, s, err)
	}
}

func TestMalformedResults(t *testing.T) {
	for name, parse := range map[string]func([]byte) error{
		"found":   func(b []byte) error { _, _, err := command.ParseFound(b); return err },
		"stored":  func(b []byte) error { _, _, err := command.ParseStored(b); return err },
		"counted": func(b []byte) error { _, _, _, err := command.ParseCounted(b); return err },
		"status":  func(b []byte) error { _, _, err := command.ParseStatus(b); return err },
	} {
		for _, b := range append([][]byte{{}, {0x0F}, {0x40}, {0x80}, {0xFF}}, map[string][][]byte{
			"found":   {{0}, {1, 2, 3, 4, 5, 0}, {1, 2, 3, 4, 5, 6, 0x10}, {1, 2, 3, 4, 5, 6, 0x20}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0x30}, {'x', 1}, {0x11}},
			"stored":  {{0}, {1, 2, 3, 4, 5, 0}, {1, 2, 3, 4, 5, 6, 7, 0}, {1, 2, 3, 4, 5, 6, 0x10}, {'x', 1}},
			"counted": {{0}, {1, 2, 3, 4, 5, 6, 0}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0}, {'x', 1}},
			"status":  {{0x10}, {0x21}},
		}[name]...) {
			if err := parse(b); !errors.Is(err, command.ErrMalformed) {
				t.Errorf("%s of %v: %v", name, b, err)
			}
		}
	}
}

func TestWelcome(t *testing.T) {
	w := command.Welcome{
		Protocol: 1, Version: "v", Instance: 1<<64 - 1, Seed: 1<<63 + 1, Cores: 3, Core: 2, MaxValue: 7,
		Engine: "mica", Mode: "cache", Fabric: "shm", Paths: []string{"rfp"}, Links: true, Now: 1 << 40,
	}
	text, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	var got command.Welcome
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, w) {
		t.Errorf("%s became %+v, %v", text, got, err)
	}
}

func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range command.Procs() {
		if name := p.String(); name == "" || name == "unknown" || seen[name] {
			t.Errorf("procedure %d is called %q", p, name)
		} else {
			seen[name] = true
		}
	}
	if command.Proc(len(command.Procs())).String() != "unknown" || command.Status(255).String() != "unknown" {
		t.Error("what does not exist has a name")
	}
	for s := command.OK; s <= command.Draining; s++ {
		if name := s.String(); name == "" || name == "unknown" || seen[name] {
			t.Errorf("status %d is called %q", s, name)
		} else {
			seen[name] = true
		}
	}
}

// Only operations that change nothing may be repeated, and every result that succeeded has at
// least the bytes that its procedure says.
func TestProcs(t *testing.T) {
	for _, p := range append(command.Procs(), command.Follow) {
		changes := p == command.Put || p == command.Delete || p == command.Touch || p == command.Incr
		if p.Idempotent() == changes {
			t.Errorf("%v: idempotent is %v", p, p.Idempotent())
		}
	}
	for p, result := range map[command.Proc][]byte{
		command.Get: command.AppendFound(nil, &command.Item{Version: 1}), command.Put: command.AppendStored(nil, 1),
		command.Incr: command.AppendCounted(nil, 1, 1), command.Delete: command.AppendStatus(nil, command.OK),
	} {
		if n := p.MinResult(); n != len(result) {
			t.Errorf("%v: %d bytes, the shortest result has %d", p, n, len(result))
		}
	}
}

func TestParsingAllocatesNothing(t *testing.T) {
	put := command.AppendPut(nil, "key", values[2], &command.Store{Condition: command.IfVersion, Version: 1, Flags: 2, TTL: 3})
	del, touch, incr := command.AppendDelete(nil, "key", 1), command.AppendTouch(nil, "key", 1), command.AppendIncr(nil, "key", 1)
	found := command.AppendFound(nil, &command.Item{Value: values[2], Version: 1, Flags: 2, TTL: 3})
	counted, bad := command.AppendCounted(nil, 1, 2), []byte{0xFF}
	room := make([]byte, 0, 100)
	if n := testing.AllocsPerRun(100, func() {
		_, _ = command.ParsePut(put)
		_, _, _ = command.ParseDelete(del)
		_, _, _ = command.ParseTouch(touch)
		_, _, _ = command.ParseIncr(incr)
		_, _, _ = command.ParseFound(found)
		_, _, _, _ = command.ParseCounted(counted)
		_, _, _ = command.ParseFound(bad)
		_ = command.AppendPut(room, "key", values[2], &command.Store{TTL: 1})
		_ = command.AppendFound(room, &command.Item{Value: values[2]})
	}); n != 0 {
		t.Errorf("%.0f allocations", n)
	}
}
