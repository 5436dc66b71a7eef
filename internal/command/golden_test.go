package command_test

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/remora-kv/remora/internal/command"
)

var rewrite = flag.Bool("rewrite", false, "write the golden file anew: a change of it is a change of the protocol")

// golden are messages whose bytes must never change while Protocol stays.
var golden = []struct {
	name    string
	message func() []byte
}{
	{"hello", func() []byte { return command.AppendHello(nil) }},
	{"put", func() []byte { return command.AppendPut(nil, "key", []byte("value"), &command.Store{}) }},
	{"put if absent, ttl", func() []byte {
		return command.AppendPut(nil, "key", []byte("value"), &command.Store{Condition: command.IfAbsent, TTL: 60_000})
	}},
	{"put if present, flags", func() []byte {
		return command.AppendPut(nil, "key", []byte("value"), &command.Store{Condition: command.IfPresent, Flags: 0x01020304})
	}},
	{"put if version, flags, ttl", func() []byte {
		return command.AppendPut(nil, "key", []byte("value"), &command.Store{
			Condition: command.IfVersion, Version: 0x010203040506, Flags: 0x0708090A, TTL: 0x0B0C0D0E0F101112,
		})
	}},
	{"delete", func() []byte { return command.AppendDelete(nil, "key", 0) }},
	{"delete of a version", func() []byte { return command.AppendDelete(nil, "key", 0x010203040506) }},
	{"touch", func() []byte { return command.AppendTouch(nil, "key", 1000) }},
	{"incr", func() []byte { return command.AppendIncr(nil, "key", -2) }},
	{"found", func() []byte {
		return command.AppendFound(nil, &command.Item{Value: []byte("value"), Version: 0x010203040506})
	}},
	{"found, flags, ttl", func() []byte {
		return command.AppendFound(nil, &command.Item{
			Value: []byte("value"), Version: 0x010203040506, Flags: 0x0708090A, TTL: 0x0B0C0D0E0F101112,
		})
	}},
	{"found with a place", func() []byte {
		return command.AppendFound(nil, &command.Item{Value: []byte("value"), Version: 1, Place: command.Place{Off: 64, Len: 80, Area: 1, Clock: 0x01020304}})
	}},
	{"stored", func() []byte { return command.AppendStored(nil, 0x010203040506) }},
	{"counted", func() []byte { return command.AppendCounted(nil, -2, 0x010203040506) }},
	{"ok", func() []byte { return command.AppendStatus(nil, command.OK) }},
	{"not found", func() []byte { return command.AppendStatus(nil, command.NotFound) }},
	{"exists", func() []byte { return command.AppendStatus(nil, command.Exists) }},
	{"changed", func() []byte { return command.AppendStatus(nil, command.Changed) }},
	{"too large", func() []byte { return command.AppendStatus(nil, command.TooLarge) }},
	{"out of memory", func() []byte { return command.AppendStatus(nil, command.Full) }},
	{"not a number", func() []byte { return command.AppendStatus(nil, command.NotNumber) }},
	{"wrong core", func() []byte { return command.AppendStatus(nil, command.WrongCore) }},
	{"unsupported", func() []byte { return command.AppendStatus(nil, command.Unsupported) }},
	{"draining", func() []byte { return command.AppendStatus(nil, command.Draining) }},
}

func TestGolden(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "protocol %d\n\n", command.Protocol)
	for _, p := range command.Procs() {
		fmt.Fprintf(&b, "procedure %d %v\n", p, p)
	}
	for _, g := range golden {
		fmt.Fprintf(&b, "\n%s\n%s", g.name, hex.Dump(g.message()))
	}
	file := filepath.Join("testdata", "messages.golden")
	if *rewrite {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the bytes of messages have changed. If that is meant, raise Protocol and run with -rewrite:\n%s", &b)
	}
}
