package server_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric/faults"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/test/cachetest"
)

// Neither keys nor values get into the logs of server or client at any level, by
// whatever happens to them (V5).
func TestNothingSecretIsLogged(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		log := &cachetest.Log{}
		cfg := r.config()
		cfg.Mode, cfg.Memory, cfg.Log = store.Store, 4*store.MinMemory, logger(log)
		r.set.Log = cfg.Log
		cfg, _ = stopped(cfg)
		s := r.start(cfg)
		const key, value = "the-secret-key", "the-secret-value"
		quick := []remora.Option{remora.WithLogger(logger(log)), remora.WithReconnectWait(time.Millisecond)}
		dev := faults.Wrap(r.device(), nil)
		c := dialOn(t, r.url, dev, quick...)
		both := []operations{c, session(t, c)}
		for i, o := range both {
			testOperations(t, o, fmt.Sprint(key, " of ", i))
		}
		mustSet(t, c, key, value, 0)
		for _, o := range both {
			spill(t, o, key, value)
		}
		offend(t, r, key, value)
		if err := c.Touch(testContext(t), key, time.Hour); err != nil {
			t.Error(err)
		}
		dev.Cut()
		if _, err := c.Set(testContext(t), key, []byte(value), 0); err == nil {
			t.Error("a set over a link that is cut")
		}
		dev.Heal()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := s.Drain(ctx); err != nil {
			t.Error(err)
		}
		text := log.String()
		for _, words := range []string{"listening", "client connected", "draining", "connection lost"} {
			if !strings.Contains(text, words) {
				t.Errorf("%q was not logged, so this test is not what it should be", words)
			}
		}
		for _, secret := range []string{key, value} {
			for _, form := range []string{
				secret, hex.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret))[:16], fmt.Sprintf("%d", []byte(secret)),
			} {
				if at := strings.Index(text, form); at >= 0 {
					t.Errorf("%q is in the log: %s", secret, text[max(0, at-200):min(len(text), at+200)])
				}
			}
		}
	})
}

// spill stores a secret until there is no room, and gets it.
func spill(t *testing.T, o operations, key, value string) {
	t.Helper()
	ctx := testContext(t)
	for i := 0; ; i++ {
		_, err := o.Put(ctx, fmt.Sprint(key, i), remora.Entry{Value: []byte(strings.Repeat(value, 200))}, remora.Always())
		if isError(err, remora.ErrOutOfMemory) {
			break
		}
		if err != nil || i > 1000 {
			t.Fatalf("%d values: %v", i, err)
		}
	}
	for _, name := range []string{key, key + "0", key + "none"} {
		if _, err := o.GetItem(ctx, name); err != nil && !isError(err, remora.ErrNotFound) {
			t.Error(err)
		}
	}
	if _, err := o.Put(ctx, key, remora.Entry{Value: []byte(strings.Repeat(value, 1<<17))}, remora.Always()); !isError(err, remora.ErrTooLarge) {
		t.Errorf("a value that is too large: %v", err)
	}
}

// offend sends requests that are none, with the secrets in them.
func offend(t *testing.T, r *rig, key, value string) {
	t.Helper()
	conn := r.raw(0)
	for _, op := range append(command.Procs(), command.Stats+1) {
		for _, arg := range []string{key, "\xff" + key, "\x00\xff\xff" + key + value} {
			_, _ = try(conn, request(op, []byte(arg)))
		}
	}
	// A message that is longer than the server takes ends before it is sent, and
	// a frame that is none ends the session.
	_ = conn.Send(0, []byte(strings.Repeat(key, 1<<16)))
}
