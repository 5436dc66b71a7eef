package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	proto "github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/test/cachetest"
)

// dial connects a client of this process to the server.
func (s *serving) dial(opts ...remora.Option) *remora.Client {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), cachetest.Watchdog)
	defer cancel()
	c, err := remora.Dial(ctx, s.urls[0], opts...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// pester sends requests without a pause, whatever the answers are, until the
// connection is over or the test. It returns how to wait for that.
func (s *serving) pester() (wait func()) {
	s.t.Helper()
	addr, err := fabric.ParseAddr(s.urls[0])
	if err != nil {
		s.t.Fatal(err)
	}
	dev, err := provider.New().Open(s.urls[0])
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = dev.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), cachetest.Watchdog)
	defer cancel()
	conn, err := rfp.Dial(ctx, addr, rfp.ConnConfig{Device: dev})
	if err != nil {
		s.t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() { _ = conn.Close() }()
		for conn.Send(0, []byte{byte(proto.Get), 0, 'k'}) == nil && conn.Wait(cachetest.Watchdog) {
			_, _, _ = conn.Next()
		}
	})
	s.t.Cleanup(wg.Wait)
	return wg.Wait
}

// SIGTERM and SIGINT drain the server: clients are notified, and it exits with 0.
func TestServeDrains(t *testing.T) {
	bare(t)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		s := serve(t, 1, nil, "--listen", shmURL(t), "--cores", "2", "--drain", "1h")
		clients := []*remora.Client{s.dial(remora.WithReconnectWait(0)), s.dial(remora.WithReconnectWait(0))}
		errs := make([]error, len(clients))
		under := make(chan struct{}, len(clients))
		var wg sync.WaitGroup
		for i, c := range clients {
			wg.Go(func() {
				for n := 0; errs[i] == nil; n++ {
					if _, errs[i] = c.Set(context.Background(), strings.Repeat("k", n%8), nil, 0); n == 100 {
						under <- struct{}{}
					}
				}
			})
		}
		for range clients {
			<-under
		}
		s.Signal(sig)
		within(t, "the end of the clients", wg.Wait)
		if code := s.Exit(); code != exitOK {
			t.Errorf("%v: exit code %d, %s", sig, code, &s.Said)
		}
		for _, err := range errs {
			if !errors.Is(err, remora.ErrUnavailable) && !errors.Is(err, remora.ErrUnknown) {
				t.Errorf("%v: a client got %v", sig, err)
			}
		}
		for _, words := range []string{"msg=draining", "msg=ended", "uptime="} {
			if !strings.Contains(s.Said.String(), words) {
				t.Errorf("%v: %q is not in the log: %s", sig, words, &s.Said)
			}
		}
		if r := s.talk("get", "k"); r.code != exitUnavailable {
			t.Errorf("after the end: %+v", r)
		}
	}
}

// A client that never stops keeps a drain going, until a second signal.
func TestServeSecondSignal(t *testing.T) {
	bare(t)
	// On a machine that gives the client no time it may seem to have stopped.
	for range 50 {
		s := serve(t, 1, nil, "--listen", "tcp://127.0.0.1:0", "--drain", "1h")
		over := s.pester()
		s.Signal(syscall.SIGTERM)
		s.Said.Await(t, "msg=draining", 1)
		s.TrySignal(syscall.SIGTERM)
		if code := s.Exit(); code != exitOK {
			t.Errorf("exit code %d, %s", code, &s.Said)
		}
		within(t, "the end of the connection", over)
		if strings.Contains(s.Said.String(), "closing connections of clients that still send") {
			return
		}
	}
	t.Error("it never waits for a second signal")
}

// The time for a drain is bounded.
func TestServeDrainTime(t *testing.T) {
	bare(t)
	s := serve(t, 1, nil, "--listen", shmURL(t), "--drain", "1ms")
	s.pester()
	s.Signal(syscall.SIGTERM)
	if code := s.Exit(); code != exitOK {
		t.Errorf("exit code %d, %s", code, &s.Said)
	}
}

// SIGHUP takes over the live settings from the file, unless it is wrong, or they
// were given on the command line.
func TestServeReload(t *testing.T) {
	bare(t)
	file := writeConfig(t, "", "log-level = warn")
	s := serve(t, 1, nil, "--listen", shmURL(t), "--config", file)
	s.ok("ping")
	if said := s.Said.String(); said != "" {
		t.Errorf("at level warn it says %s", said)
	}
	writeConfig(t, file, "log-level = debug", "cores = 3", "engine = lru8", "max-value = 1048577", "max-clients = 1", "drain = 1m")
	s.Signal(syscall.SIGHUP)
	s.Said.Await(t, "msg=\"configuration read again\" log-level=debug max-clients=1 drain=1m0s", 1)
	s.Said.Await(t, `msg="settings have changed that need a restart" settings="[cores engine max-value]"`, 1)
	held := s.dial()
	s.fails(exitUnavailable, "has its 1 clients already", "ping", "--timeout", "1s")
	if err := held.Close(); err != nil {
		t.Error(err)
	}
	s.ok("ping")
	s.Said.Await(t, "msg=\"client connected\"", 1)
	if n := len(s.stats()); n != 1 {
		t.Errorf("%d cores after a reload", n)
	}
	for i, wrong := range []string{"log-level = loud", "nonsense = 1", "cores = many", "max-clients = 100000", "max-clients = 0", "mode = strict", "cores = 1000"} {
		writeConfig(t, file, wrong)
		s.Signal(syscall.SIGHUP)
		s.Said.Await(t, "msg=\"the configuration is wrong, the old one stays\"", 1+i)
	}
	before := strings.Count(s.Said.String(), "msg=\"client connected\"")
	s.ok("ping")
	s.Said.Await(t, "msg=\"client connected\"", before+1) // it still is at debug
	s.end()

	s = serve(t, 1, nil, "--listen", shmURL(t), "--config", writeConfig(t, file, "log-level = debug"), "--log-level", "info")
	s.Signal(syscall.SIGHUP)
	s.Said.Await(t, "msg=\"configuration read again\" log-level=info", 1)
	s.ok("ping")
	if said := s.Said.String(); strings.Contains(said, "level=DEBUG") {
		t.Errorf("at level info it says %s", said)
	}
	s.end()
}
