package server_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/faults"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/herd"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/cachetest"
	"github.com/remora-kv/remora/test/scale"
)

// herdClient calls the cache through herd.
type herdClient struct {
	srv  *server.Server
	conn *herd.Conn
}

func (r *rig) dialHerd(dev fabric.Device) *herdClient {
	r.t.Helper()
	addr, err := fabric.ParseAddr(r.url)
	if err != nil {
		r.t.Fatal(err)
	}
	conn, err := herd.Dial(testContext(r.t), addr, herd.ConnConfig{Device: dev, RetryAfter: time.Millisecond})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	return &herdClient{r.srv, conn}
}

// call calls a procedure about a key and returns a copy of the result.
func (h *herdClient) call(op command.Proc, key string, arg []byte) ([]byte, error) {
	hash := h.srv.Seed().HashString(key)
	return h.callOn(store.PartitionOf(hash, h.conn.Cores()), hash, op, arg)
}

func (h *herdClient) callOn(core int, hash uint64, op command.Proc, arg []byte) ([]byte, error) {
	l := h.conn.CoreConn(core)
	msg := append(binary.LittleEndian.AppendUint16(nil, uint16(op)), arg...)
	for err := l.Send(hash, msg); err != nil; err = l.Send(hash, msg) {
		if !errors.Is(err, rpc.ErrWindowFull) {
			return nil, err
		}
		h.conn.Poll()
	}
	for !l.Ready() {
		if !h.conn.Wait(cachetest.Watchdog) || h.conn.Err() != nil {
			return nil, fmt.Errorf("no result: %w", h.conn.Err())
		}
	}
	result, err, _ := l.Next()
	return bytes.Clone(result), err
}

func (h *herdClient) get(key string) (command.Item, command.Status, error) {
	result, err := h.call(command.Get, key, []byte(key))
	if err != nil {
		return command.Item{}, 0, err
	}
	return command.ParseFound(result)
}

func (h *herdClient) put(key string, value []byte) error {
	result, err := h.call(command.Put, key, command.AppendPut(nil, key, value, &command.Store{}))
	if err != nil {
		return err
	}
	if _, status, err := command.ParseStored(result); err != nil || status != command.OK {
		return fmt.Errorf("%v, %w", status, err)
	}
	return nil
}

// Both paths serve the same items, with keys of all lengths.
func TestHerdServesTheSameItems(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		s := r.start(r.config())
		c, h := r.dial(), r.dialHerd(r.device())
		ctx := testContext(t)
		for i := range scale.Times(300) {
			key, value := fmt.Sprint(i, strings.Repeat("k", i%200)), []byte(fmt.Sprint("value of ", i))
			if i%2 == 0 {
				if _, err := c.Set(ctx, key, value, 0); err != nil {
					t.Fatal(err)
				}
			} else if err := h.put(key, value); err != nil {
				t.Fatal(err)
			}
			item, status, err := h.get(key)
			if err != nil || status != command.OK || !bytes.Equal(item.Value, value) {
				t.Fatalf("herd: %q, %v, %v", item.Value, status, err)
			}
			if got, err := c.Get(ctx, key); err != nil || !bytes.Equal(got, value) {
				t.Fatalf("rfp: %q, %v", got, err)
			}
		}
		if _, status, err := h.get("nothing"); err != nil || status != command.NotFound {
			t.Errorf("what is not there: %v, %v", status, err)
		}
		// A hint that is wrong changes nothing, and a core that is wrong refuses (V2).
		key := keyOn(s, 1, "there")
		if err := h.put(key, []byte("x")); err != nil {
			t.Fatal(err)
		}
		if result, err := h.callOn(1, 12345, command.Get, []byte(key)); err != nil || result[0] != 'x' {
			t.Errorf("with a wrong hint: %q, %v", result, err)
		}
		result, err := h.callOn(0, s.Seed().HashString(key), command.Get, []byte(key))
		if _, status, _ := command.ParseFound(result); err != nil || status != command.WrongCore {
			t.Errorf("on another core: %v, %v", status, err)
		}
	})
}

// What does not fit a slot is refused with a code by which the client takes another
// path, and nothing has happened.
func TestHerdRefusesWhatIsLong(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.start(r.config())
		c, h := r.dial(), r.dialHerd(r.device())
		long := bytes.Repeat([]byte("v"), 2000)
		if _, err := c.Set(testContext(t), "long", long, 0); err != nil {
			t.Fatal(err)
		}
		if _, _, err := h.get("long"); !errors.Is(err, &rpc.Error{Code: rpc.CodeTooLarge}) {
			t.Errorf("a long value: %v", err)
		}
		if err := h.put("long", long); !errors.Is(err, rpc.ErrTooLarge) {
			t.Errorf("a long put: %v", err)
		}
		longest := long[:h.conn.MaxMessage()-rpc.ProcSize-command.PutSize-command.FoundSize]
		if err := h.put("k", longest); err != nil {
			t.Errorf("%d bytes: %v", len(longest), err)
		}
		if item, _, err := h.get("k"); err != nil || !bytes.Equal(item.Value, longest) {
			t.Errorf("%d bytes came back: %v", len(item.Value), err)
		}
	})
}

// An increment counts once though a tenth of all messages is lost, while clients of rfp
// count the same.
func TestHerdCountsOnceUnderLoss(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		plan, err := faults.ParsePlan("seed=3; uc.drop=10%; ud.drop=10%; ud.dup=10%,1ms; ud.reorder=10%,by=2")
		if err != nil {
			t.Fatal(err)
		}
		bad := func(d fabric.Device) fabric.Device { return faults.Wrap(d, plan) }
		r.start(r.config().Behind(bad))
		c := r.dial()
		if _, err := c.Set(testContext(t), "n", []byte("0"), 0); err != nil {
			t.Fatal(err)
		}
		const clients = 3
		each := scale.Times(200)
		var wg sync.WaitGroup
		for range clients {
			h := r.dialHerd(bad(r.device()))
			wg.Go(func() {
				for range each {
					result, err := h.call(command.Incr, "n", command.AppendIncr(nil, "n", 1))
					if _, _, status, bad := command.ParseCounted(result); err != nil || bad != nil || status != command.OK {
						t.Errorf("%v, %v, %v; %+v", status, bad, err, h.conn.Stats())
						return
					}
				}
			})
		}
		for range each {
			if _, err := c.Incr(testContext(t), "n", 1); err != nil {
				t.Error(err)
				break
			}
		}
		wg.Wait()
		if sum, err := c.Incr(testContext(t), "n", 0); err != nil || sum != int64((clients+1)*each) {
			t.Errorf("%d counts make %d, %v", (clients+1)*each, sum, err)
		}
	})
}

// Each change is made once by clients and sessions of many goroutines, though a tenth of
// all messages is lost: every increment and every exchange counts one, and a version is
// exchanged by one of them.
func TestHerdChangesOnceUnderLoss(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		plan, err := faults.ParsePlan("seed=7; uc.drop=10%; ud.drop=10%; ud.dup=10%,1ms; ud.reorder=10%,by=2")
		if err != nil {
			t.Fatal(err)
		}
		bad := func(d fabric.Device) fabric.Device { return faults.Wrap(d, plan) }
		r.start(r.config().Behind(bad))
		ctx := testContext(t)
		c := dialOn(t, r.url, bad(r.device()), remora.WithPath(remora.PathHerd))
		for _, key := range []string{"sum", "exchanged"} {
			if _, err := c.Set(ctx, key, []byte("0"), 0); err != nil {
				t.Fatal(err)
			}
		}
		members := []operations{c, c, c, session(t, c), session(t, c)}
		each := scale.Times(100)
		var wg sync.WaitGroup
		for i, o := range members {
			wg.Go(func() {
				for n := range each {
					if err := changeOnce(ctx, o, fmt.Sprint("own ", i, " ", n)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		for _, key := range []string{"sum", "exchanged"} {
			if got, err := r.dial().Get(ctx, key); err != nil || string(got) != fmt.Sprint(len(members)*each) {
				t.Errorf("%s: %d changes make %s, %v", key, len(members)*each, got, err)
			}
		}
	})
}

// changeOnce makes a change of each kind: it counts one to the sum, one to what is
// exchanged, and adds and deletes a key of its own.
func changeOnce(ctx context.Context, o operations, own string) error {
	if _, err := o.Incr(ctx, "sum", 1); err != nil {
		return fmt.Errorf("incr: %w", err)
	}
	for {
		item, err := o.GetItem(ctx, "exchanged")
		if err != nil {
			return fmt.Errorf("get: %w", err)
		}
		n, err := strconv.Atoi(string(item.Value))
		if err != nil {
			return err
		}
		next := remora.Entry{Value: []byte(strconv.Itoa(n + 1))}
		if _, err = o.Put(ctx, "exchanged", next, remora.IfVersion(item.Version)); err == nil {
			break
		}
		if !errors.Is(err, remora.ErrChanged) {
			return fmt.Errorf("cas: %w", err)
		}
	}
	if _, err := o.Put(ctx, own, remora.Entry{Value: []byte(own)}, remora.IfAbsent()); err != nil { // a second time it would be there
		return fmt.Errorf("add: %w", err)
	}
	if err := o.Delete(ctx, own); err != nil { // and then not
		return fmt.Errorf("delete: %w", err)
	}
	return nil
}

// The server says that it offers herd, and what it did.
func TestHerdIsOffered(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		r.start(r.config())
		h := r.dialHerd(r.device())
		result, err := h.callOn(0, 0, command.Hello, command.AppendHello(nil))
		if err != nil || !bytes.Contains(result, []byte(`"herd"`)) {
			t.Errorf("%s, %v", result, err)
		}
		cores, err := r.dial().Stats(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		var st server.Stats
		if err := json.Unmarshal(cores[0], &st); err != nil {
			t.Fatal(err)
		}
		if st.Herd == nil || st.Herd.Calls != 1 || st.Herd.Memory == 0 {
			t.Errorf("%+v", st.Herd)
		}
	})
}
