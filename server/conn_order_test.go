package server_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/internal/path"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/driver"
	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/cachetest"
)

// core is a connection with a server that has one.
type core struct {
	*path.Conn
	t    *testing.T
	seed store.Seed
}

func dialCore(t *testing.T, cfg server.Config, r *rig, as path.Config) *core {
	t.Helper()
	cfg.Cores = 1
	r.start(cfg)
	addr, err := fabric.ParseAddr(r.url)
	if err != nil {
		t.Fatal(err)
	}
	as.Window, as.DialTimeout = 4, cachetest.Watchdog
	dialer, err := path.NewDialer(addr, r.device(), nil)
	if err != nil {
		t.Fatal(err)
	}
	conns, w, err := dialer.ConnectAll(testContext(t), &as, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conns[0].Close() })
	return &core{conns[0], t, store.Seed(w.Seed)}
}

// send sends an operation, by Send or by Reserve and Commit.
func (c *core) send(op command.Proc, key string, reserve bool) error {
	msg := []byte(key)
	if op == command.Put {
		msg = command.AppendPut(nil, key, []byte("value of "+key), &command.Store{})
	}
	hash := c.seed.HashString(key)
	if !reserve {
		return errors.Join(c.Send(&driver.Message{Proc: uint16(op), Hint: hash, Head: msg}), c.SendFrame())
	}
	b, err := c.Reserve(op, hash, rpc.ProcSize+len(msg))
	if err != nil {
		return err
	}
	b[0], b[1] = byte(op), byte(op>>8)
	copy(b[rpc.ProcSize:], msg)
	return errors.Join(c.Commit(op, hash), c.SendFrame())
}

// sends sends an operation that must be taken.
func (c *core) sends(op command.Proc, key string, reserve bool) {
	c.t.Helper()
	if err := c.send(op, key, reserve); err != nil {
		c.t.Fatalf("%v of %q: %v", op, key, err)
	}
}

// take waits for the next result.
func (c *core) take() []byte {
	c.t.Helper()
	for {
		result, err, ok := c.Next()
		if err == nil {
			err = c.Err()
		}
		if err != nil {
			c.t.Fatal(err)
		}
		if ok {
			return result
		}
		c.Wait(cachetest.Watchdog)
	}
}

// takes takes the result of a get.
func (c *core) takes(key string) {
	c.t.Helper()
	var item command.Item
	if status, err := item.Read(c.take()); err != nil || status != command.OK || !strings.HasPrefix(string(item.Value), "value of "+key) {
		c.t.Fatalf("the result of a get of %q: %v, %v, %q", key, status, err, item.Value)
	}
}

func (c *core) refuses(what string, err error) {
	c.t.Helper()
	if !errors.Is(err, rpc.ErrWindowFull) {
		c.t.Errorf("%s: %v, want %v", what, err, rpc.ErrWindowFull)
	}
}

// Where links are followed, an operation that takes another connection than those before it is
// not sent until they have their results (P1).
func TestOrderOfLinksAndCalls(t *testing.T) {
	for _, reserve := range []bool{false, true} {
		r := newRig(t, provider.Shm)
		c := dialCore(t, r.linked(), r, path.Config{Path: path.RFP, Links: 100})
		for _, key := range []string{"linked", "other"} {
			c.sends(command.Put, key, reserve)
			c.take()
		}
		c.sends(command.Get, "linked", reserve) // it brings the link
		c.takes("linked")
		hash := c.seed.HashString("linked")
		if err := c.Send(&driver.Message{Proc: uint16(command.Link), Hint: hash, Head: []byte("linked"), Body: command.AppendUses(nil, nil)}); err != nil {
			t.Fatal(err)
		}
		c.Flush()
		link, ok := path.LinkIn(c.take())
		if !ok {
			t.Fatal("no link")
		}
		follow := path.AppendFollow(nil, &link, "linked")

		c.sends(command.Get, "other", reserve)
		c.refuses("following a link beside a call", c.SendFollow(hash, follow))
		c.sends(command.Get, "linked", reserve) // goes by rfp, and does not wait
		c.takes("other")
		c.takes("linked")
		if err := c.SendFollow(hash, follow); err != nil {
			t.Fatal(err)
		}
		c.refuses("a get beside the following of a link", c.send(command.Get, "unknown", reserve))
		c.refuses("a put beside the following of a link", c.send(command.Put, "other", reserve))
		c.takes("linked")
		c.sends(command.Get, "linked", reserve) // by the link that is remembered
		c.refuses("a call beside a get by a link", c.send(command.Get, "unknown", reserve))
		c.takes("linked")
		c.sends(command.Get, "other", reserve)
		c.takes("other")
	}
}

// Where the reader searches, gets and calls do not pass each other either (P1).
func TestOrderOfSearchesAndCalls(t *testing.T) {
	for _, name := range []path.Name{path.OneSided, path.Pilaf} {
		for _, reserve := range []bool{false, true} {
			r := newRig(t, provider.Shm)
			cfg := r.config()
			cfg.Engine = server.Engine(string(name))
			c := dialCore(t, cfg, r, path.Config{Path: name})
			c.sends(command.Put, "key", reserve)
			c.refuses("a search beside a put", c.send(command.Get, "key", reserve))
			c.take()
			c.sends(command.Get, "key", reserve)
			c.refuses("a put beside a search", c.send(command.Put, "key", reserve))
			c.takes("key")
		}
	}
}
