package server

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric/fabrictest"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/mica"
)

// A core looks at the clock now and then. The time that clients of exported memory go by is not the one
// that the core saw last, which it shows to nobody any more after its next look.
func TestClientsAreToldTheTimeOfNow(t *testing.T) {
	part, err := mica.New(store.Config{Memory: store.MinMemory})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = part.Close() }()
	clock := fabrictest.NewHandClock()
	s := &Server{cfg: Config{MaxKey: DefaultMaxKey}, welcome: command.Welcome{Cores: 1}}
	s.shards = []*shard{{server: s, part: part, reader: part, clock: clock, epoch: 1 << 40}}
	stale := &rpc.Call{Now: clock.Now()}
	call := func(op command.Proc, arg []byte) []byte {
		t.Helper()
		result, err := s.serve(stale, append([]byte{byte(op), byte(op >> 8)}, arg...), make([]byte, 0, 1<<10))
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	call(command.Put, command.AppendPut(nil, "k", []byte("v"), &command.Store{}))
	clock.Advance(time.Second)
	now := int64(1<<40) + clock.Now()/int64(time.Millisecond)

	var item command.Item
	if status, err := item.Read(call(command.Link, command.AppendUses([]byte("k"), nil))); err != nil || status != command.OK || item.Place.Clock != uint32(now) {
		t.Errorf("the answer to link: %+v, %v, %v; the time is %d", item, status, err, uint32(now))
	}
	body, status, err := command.ParseStatus(call(command.Hello, command.AppendHello(nil)))
	var w command.Welcome
	if err != nil || status != command.OK || json.Unmarshal(body, &w) != nil || w.Now != now {
		t.Errorf("the welcome: %+v, %v, %v; the time is %d", w, status, err, now)
	}
}
