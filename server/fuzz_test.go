package server_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/store"
)

// FuzzServe gives messages to the request path of servers with each engine: they
// never panic, answer the same, with something that can be parsed, and what was
// refused has changed nothing. Input is messages, each behind its length in a byte.
func FuzzServe(f *testing.F) {
	var seeds []byte
	for op, arg := range map[command.Proc][]byte{
		command.Hello:  command.AppendHello(nil),
		command.Get:    []byte("k"),
		command.Put:    command.AppendPut(nil, "k", []byte("41"), &command.Store{Flags: 3, TTL: 1000}),
		command.Delete: command.AppendDelete(nil, "k", 0),
		command.Touch:  command.AppendTouch(nil, "k", 1),
		command.Incr:   command.AppendIncr(nil, "k", 1),
		command.Stats:  nil,
		command.Link:   command.AppendUses([]byte("k"), []uint64{1, 2}),
	} {
		msg := request(op, arg)
		f.Add(append([]byte{byte(len(msg))}, msg...))
		seeds = append(append(seeds, byte(len(msg))), msg...)
	}
	f.Add(seeds)
	f.Add(expiring())
	f.Add([]byte("\x03\x01\x00k\x14\x02\x00 \x01\x00\x03\x00\x7f\x01\x00\x02\xe8\xca\x00\x01\xf6\x00\x00\x00\x00\x03\x01\x00\x00"))
	var servers []*server.Server
	for _, engine := range realEngines {
		s, err := server.Start(server.Config{
			Listen: []string{"loop:" + engine}, Memory: 8 << 20, MaxValue: 4096, Mode: store.Store,
			Engine: engine, Providers: provider.New(),
		})
		if err != nil {
			f.Fatal(err)
		}
		f.Cleanup(func() { _ = s.Close() })
		s.StopReports()
		servers = append(servers, s)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		for _, s := range servers {
			reset(s)
		}
		const most = 200 // messages, so that memory is never full
		for now := int64(0); len(input) > 1 && now < most*step; now += step {
			n := min(int(input[0]), len(input)-1)
			msg := input[1 : 1+n]
			input = input[1+n:]
			fuzzMessage(t, servers, msg, now)
		}
		for _, s := range servers {
			if err := s.Partition(0).Check(); err != nil {
				t.Errorf("%s: %v", s.Config().Engine, err)
			}
		}
	})
}

// step is the time between two messages: times to live run out.
const step = 300_000

// expiring is messages of which the last meet an item whose time has run out.
func expiring() []byte {
	var input []byte
	add := func(op command.Proc, arg []byte) {
		msg := request(op, arg)
		input = append(append(input, byte(len(msg))), msg...)
	}
	add(command.Put, command.AppendPut(nil, "k", []byte("41"), &command.Store{TTL: 1}))
	for range 5 {
		add(command.Get, []byte("other"))
	}
	add(command.Incr, command.AppendIncr(nil, "k", 1))
	add(command.Touch, command.AppendTouch(nil, "k", 1))
	return input
}

// reset deletes all items.
func reset(s *server.Server) {
	var keys [][]byte
	p := s.Partition(0)
	p.Each(0, func(k store.Key, _ store.Item) bool {
		keys = append(keys, bytes.Clone(k.Bytes))
		return true
	})
	for _, key := range keys {
		_ = p.Delete(s.Seed().Key(key), store.Always(), 0)
	}
}

// fuzzMessage gives one message to all servers.
func fuzzMessage(t *testing.T, servers []*server.Server, msg []byte, now int64) {
	t.Helper()
	var first string
	for i, s := range servers {
		before := holds(s, now)
		sent := bytes.Clone(msg)
		call := &rpc.Call{Now: now, Announced: len(msg) % (rfp.ExpectMost + 1)}
		if at := call.Announced; at != 0 {
			batch := make([][]byte, rfp.ExpectMost) // the others are parts of long messages
			batch[at-1] = sent
			if !s.Expect(0, batch) {
				call.Announced = 0
			}
		}
		result, err := s.Serve(call, sent, make([]byte, 0, 64))
		if !bytes.Equal(sent, msg) {
			t.Errorf("the request was changed: %x to %x", msg, sent)
		}
		answer := describe(t, msg, append(bytes.Clone(result), call.After...), err)
		if i == 0 {
			first = answer
		} else if answer != first {
			t.Errorf("%x is answered by %s with %q, by %s with %q", msg,
				servers[0].Config().Engine, first, s.Config().Engine, answer)
		}
		if answer[0] != '+' && holds(s, now) != before {
			t.Errorf("%x was refused with %q, and yet it changed %s to %s", msg, answer, before, holds(s, now))
		}
	}
}

// holds writes what a server holds at a time: what has expired by then may go at any
// message.
func holds(s *server.Server, now int64) string {
	sum := uint64(0)
	items := 0
	s.Partition(0).Each(s.Time(0, now), func(k store.Key, item store.Item) bool {
		items++
		for _, b := range [][]byte{k.Bytes, item.Value, fmt.Append(nil, item.Version, item.Flags, item.Expires)} {
			sum += store.Seed(len(b)).Hash(b)
		}
		return true
	})
	return fmt.Sprintf("%d items, %x", items, sum)
}

// describe writes an answer without versions: it begins with + when something may
// have changed.
func describe(t *testing.T, msg, result []byte, err error) string {
	t.Helper()
	if err != nil {
		var e *rpc.Error
		if !errors.As(err, &e) {
			t.Errorf("%x: an error that is none for clients: %v", msg, err)
		}
		return "error " + err.Error()
	}
	if len(msg) < rpc.ProcSize {
		t.Fatalf("%x has a result", msg)
	}
	switch op := command.Proc(binary.LittleEndian.Uint16(msg)); op {
	case command.Get, command.Link:
		item, status, err := command.ParseFound(result)
		if err != nil {
			t.Fatalf("%x: %v", msg, err)
		}
		// One that never ends by the clock ends with it, and servers that were started at
		// different times have different clocks.
		return fmt.Sprintf("%v %q %d %d", status, item.Value, item.Flags, min(item.TTL, 1<<60))
	case command.Put:
		return changed(t, msg, result, 0)
	case command.Incr:
		return changed(t, msg, result, 8)
	default:
		body, status, err := command.ParseStatus(result)
		if err != nil {
			t.Fatalf("%x: %v", msg, err)
		}
		if status == command.OK && (op == command.Delete || op == command.Touch) {
			return fmt.Sprintf("+%q", body)
		}
		return status.String()
	}
}

// changed describes a result that has a version when it is OK.
func changed(t *testing.T, msg, result []byte, sum int) string {
	t.Helper()
	var status command.Status
	var err error
	var n int64
	if sum == 0 {
		_, status, err = command.ParseStored(result)
	} else {
		n, _, status, err = command.ParseCounted(result)
	}
	if err != nil {
		t.Fatalf("%x: %v", msg, err)
	}
	if status == command.OK {
		return fmt.Sprintf("+%d", n)
	}
	return status.String()
}
