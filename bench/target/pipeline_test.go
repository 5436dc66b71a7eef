package target

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
)

// start starts a server; one that is not installed skips the test, but not in CI.
func start(t *testing.T, cfg ForeignConfig) *Foreign {
	t.Helper()
	s, err := StartForeign(t.Context(), cfg)
	if errors.Is(err, ErrMissing) && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// servers are those that there are, with the protocols that they speak.
func servers() map[string]struct {
	program Program
	proto   Protocol
} {
	return map[string]struct {
		program Program
		proto   Protocol
	}{
		"memcached": {MemcachedProgram(), Memcached{}}, "meta": {MemcachedProgram(), Meta{}}, "redis": {RedisProgram(), RESP{}},
	}
}

// each runs a test with a connection to every server, on every network, busy and
// not.
func each(t *testing.T, args map[string][]string, test func(t *testing.T, c *Pipeline)) {
	for name, s := range servers() {
		for _, network := range []string{NetTCP, NetUnix} {
			srv := start(t, ForeignConfig{Program: s.program, Network: network, Memory: 256 << 20, Args: args[name]})
			for _, busy := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/busy=%v", name, network, busy), func(t *testing.T) {
					c, err := DialPipeline(srv.Network, srv.Address, s.proto, busy)
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = c.Close() })
					test(t, c)
				})
			}
		}
	}
}

// take waits for the next answer.
func take(t *testing.T, c *Pipeline) Answer {
	t.Helper()
	for {
		a, ok, err := c.Next()
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			return a
		}
	}
}

func TestGetAndSet(t *testing.T) {
	each(t, nil, func(t *testing.T, c *Pipeline) {
		key := func(i int) []byte { return fmt.Appendf(nil, "key-%d", i) }
		for i := range 100 {
			if err := errors.Join(c.Get(key(i+1000)), c.Set(key(i), []byte(fmt.Sprint("value ", i))), c.Get(key(i))); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 100 {
			if a := take(t, c); a.Kind != Miss {
				t.Fatalf("a key that is not there: %+v", a)
			}
			if a := take(t, c); a.Kind != Stored {
				t.Fatalf("a set: %+v", a)
			}
			if a := take(t, c); a.Kind != Found || string(a.Value) != fmt.Sprint("value ", i) {
				t.Fatalf("get %d: %+v", i, a)
			}
		}
		if a, ok, err := c.Poll(); ok || err != nil {
			t.Errorf("more answers than requests: %+v, %v", a, err)
		}
		if a, ok, err := c.Next(); ok || err != nil {
			t.Errorf("an answer to nothing: %+v, %v", a, err)
		}
	})
}

// P4: values that no socket can hold go both ways at the same time. memcached says
// no to one that is too large for it.
func TestLargeValues(t *testing.T) {
	args := map[string][]string{"memcached": {"-I", "4m"}, "meta": {"-I", "4m"}}
	each(t, args, func(t *testing.T, c *Pipeline) {
		value := bytes.Repeat([]byte("0123456789abcdef"), 3<<16) // 3 MiB
		key := []byte("large")
		if err := c.Set(key, value); err != nil {
			t.Fatal(err)
		}
		const rounds = 8
		for range rounds {
			if err := errors.Join(c.Get(key), c.Set(key, value)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 2*rounds + 1 {
			switch a := take(t, c); {
			case i%2 == 0 && a.Kind != Stored:
				t.Fatalf("set %d: kind %d, %.40q", i/2, a.Kind, a.Value)
			case i%2 == 1 && (a.Kind != Found || !bytes.Equal(a.Value, value)):
				t.Fatalf("get %d: kind %d, %d bytes", i/2, a.Kind, len(a.Value))
			}
		}
	})
}

func TestARefusalIsAnAnswer(t *testing.T) {
	s := start(t, ForeignConfig{Program: MemcachedProgram()})
	for _, proto := range []Protocol{Memcached{}, Meta{}} {
		c, err := DialPipeline(s.Network, s.Address, proto, false)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if err := c.Set([]byte("k"), make([]byte, 2<<20)); err != nil {
			t.Fatal(err)
		}
		if a := take(t, c); a.Kind != Failed || a.Err() == nil {
			t.Errorf("a value that is too large: %+v", a)
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	s := start(t, ForeignConfig{Program: RedisProgram()})
	c, err := DialPipeline(s.Network, s.Address, RESP{}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	key, value := []byte("0123456789abcdef"), make([]byte, 32)
	if n := testing.AllocsPerRun(100, func() {
		if err := errors.Join(c.Set(key, value), c.Get(key)); err != nil {
			t.Error(err)
		}
		take(t, c)
		take(t, c)
	}); n > 0.5 {
		t.Errorf("%v allocations for two operations", n)
	}
}

func TestAServerThatLeaves(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := DialPipeline("tcp", l.Addr().String(), RESP{}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = peer.Close()
	_ = l.Close()
	if _, _, err := c.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a server that left gave %v", err)
	}
	if _, err := DialPipeline("tcp", l.Addr().String(), RESP{}, false); err == nil {
		t.Error("nobody listens, and a connection is made")
	}
	if _, err := DialPipeline("tcp", "localhost", RESP{}, false); err == nil {
		t.Error("an address without a port is dialed")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
