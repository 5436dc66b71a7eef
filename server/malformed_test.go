package server_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/test/scale"
)

// guarded is a server whose items must not change.
type guarded struct {
	*rig
	before map[string]string // what is known of each item
	conn   *rfp.Conn
}

func guard(t *testing.T, r *rig) *guarded {
	cfg := r.config()
	cfg.Cores, cfg.MaxValue = 1, 3000
	cfg, _ = stopped(cfg)
	r.start(cfg)
	g := &guarded{rig: r, before: map[string]string{}, conn: r.raw(0)}
	c := r.dial()
	for _, key := range []string{"", "k", "key", "\x00\x00\x00"} {
		mustSet(t, c, key, "12", 0)
	}
	g.before = g.look()
	return g
}

// look reads all items.
func (g *guarded) look() map[string]string {
	g.t.Helper()
	c := g.dial()
	defer func() { _ = c.Close() }()
	now := map[string]string{}
	for _, key := range []string{"", "k", "key", "\x00\x00\x00"} {
		item, err := c.GetItem(testContext(g.t), key)
		now[key] = fmt.Sprintf("%+v %v", item, err)
	}
	st := stats(g.t, c)[0].Store
	now["counts"] = fmt.Sprint(st.Items, st.Puts, st.Deletes, st.KeyBytes, st.ValueBytes)
	return now
}

// unchanged fails the test if something has changed.
func (g *guarded) unchanged() {
	g.t.Helper()
	for key, now := range g.look() {
		if now != g.before[key] {
			g.t.Errorf("%q was %s and is %s", key, g.before[key], now)
		}
	}
}

// Every request that is too short, by any number of bytes, is refused as none
// and does nothing.
func TestTruncatedRequests(t *testing.T) {
	full := map[command.Proc][][]byte{
		command.Hello: {command.AppendHello(nil)},
		command.Put: {
			command.AppendPut(nil, "key", nil, &command.Store{}),
			command.AppendPut(nil, "key", nil, &command.Store{Condition: command.IfPresent, Flags: 1, TTL: 1}),
			command.AppendPut(nil, "key", nil, &command.Store{Condition: command.IfVersion, Version: 1, Flags: 1, TTL: 1}),
		},
		command.Delete: {command.AppendDelete(nil, "", 1), command.AppendDelete(nil, "", 0)},
		command.Touch:  {command.AppendTouch(nil, "", 1)},
		command.Incr:   {command.AppendIncr(nil, "", 1)},
		command.Link:   {command.AppendUses(nil, []uint64{1<<64 - 1, 1<<64 - 1})},
	}
	eachFabric(t, func(t *testing.T, r *rig) {
		g := guard(t, r)
		for op, requests := range full {
			for _, whole := range requests {
				for n := range whole {
					if _, err := ask(t, g.conn, request(op, whole[:n])); !refusedAs(err, rpc.CodeMalformed) {
						t.Errorf("%v of %x: %v", op, whole[:n], err)
					}
				}
			}
		}
		for _, msg := range [][]byte{{}, {byte(command.Get)}} {
			if _, err := ask(t, g.conn, msg); !refusedAs(err, rpc.CodeMalformed) {
				t.Errorf("%x: %v", msg, err)
			}
		}
		for _, op := range []command.Proc{command.Link + 1, 255, 256, 0xFFFF} {
			if _, err := ask(t, g.conn, request(op, []byte("key"))); !refusedAs(err, rpc.CodeNoProcedure) {
				t.Errorf("procedure %d: %v", op, err)
			}
		}
		g.unchanged()
	})
}

// Heads that mean nothing are refused.
func TestUnknownBits(t *testing.T) {
	r := newRig(t, fabrics[0])
	g := guard(t, r)
	known := byte(0x03 | 0x10 | 0x20)
	for head := range 256 {
		if byte(head)&^known == 0 {
			continue
		}
		msg := append([]byte{byte(head), 3, 0}, make([]byte, 40)...)
		if _, err := ask(t, g.conn, request(command.Put, msg)); !refusedAs(err, rpc.CodeMalformed) {
			t.Errorf("put with head %#x: %v", head, err)
		}
	}
	for head := range 256 {
		if head == int(command.Always) || head == int(command.IfVersion) {
			continue
		}
		if _, err := ask(t, g.conn, request(command.Delete, []byte{byte(head), 0, 0, 0, 0, 0, 0, 'k'})); !refusedAs(err, rpc.CodeMalformed) {
			t.Errorf("delete with head %#x: %v", head, err)
		}
	}
	g.unchanged()
}

// A delete of an item of version 0, which no item has, deletes nothing.
func TestDeleteOfVersionZero(t *testing.T) {
	r := newRig(t, fabrics[0])
	g := guard(t, r)
	msg := append([]byte{byte(command.IfVersion), 0, 0, 0, 0, 0, 0}, "key"...)
	if result, err := ask(t, g.conn, request(command.Delete, msg)); err == nil && result[len(result)-1] == byte(command.OK) {
		t.Error("it was deleted")
	}
	g.unchanged()
}

// Random messages never end the session, and every one is answered. They are made
// to be almost requests, but name keys that are not there.
func TestRandomRequests(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		g := guard(t, r)
		seed := scale.Seed(t)
		rng := rand.New(rand.NewPCG(seed, 0))
		for range scale.Times(800) {
			msg := make([]byte, rng.IntN(60))
			for i := range msg {
				msg[i] = byte(rng.Uint32())
			}
			if len(msg) >= rpc.ProcSize && rng.IntN(8) != 0 {
				binary.LittleEndian.PutUint16(msg, uint16(rng.IntN(int(command.Stats)+2)))
			}
			if len(msg) < 40 && touchesItems(msg) {
				continue
			}
			if _, err := ask(t, g.conn, msg); err != nil &&
				!refusedAs(err, rpc.CodeMalformed) && !refusedAs(err, rpc.CodeNoProcedure) && !refusedAs(err, rpc.CodeFailed) {
				t.Fatalf("seed %d: %x: %v", seed, msg, err)
			}
		}
		after := g.look()
		delete(after, "counts") // random puts may have succeeded
		for key, now := range after {
			if now != g.before[key] {
				t.Errorf("seed %d: %q was %s and is %s", seed, key, g.before[key], now)
			}
		}
		if g.conn.Err() != nil {
			t.Errorf("seed %d: the connection ended: %v", seed, g.conn.Err())
		}
	})
}

// touchesItems reports whether a message is a request for one of the items.
func touchesItems(msg []byte) bool {
	if len(msg) < rpc.ProcSize {
		return false
	}
	var key []byte
	var err error
	switch op, arg := command.Proc(binary.LittleEndian.Uint16(msg)), msg[rpc.ProcSize:]; op {
	case command.Put:
		var s command.Store
		s, err = command.ParsePut(arg)
		key = s.Key
	case command.Delete:
		key, _, err = command.ParseDelete(arg)
	case command.Touch:
		key, _, err = command.ParseTouch(arg)
	case command.Incr:
		key, _, err = command.ParseIncr(arg)
	default:
		return false
	}
	return err == nil && slices.Contains([]string{"", "k", "key", "\x00\x00\x00"}, string(key))
}
