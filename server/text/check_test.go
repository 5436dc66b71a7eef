package text

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/remora-kv/remora/test/cachetest"
)

// handClock is moved by the test. It counts how often it was read, which the loop does once in
// each turn.
type handClock struct{ now, reads atomic.Int64 }

func (h *handClock) Now() int64 {
	h.reads.Add(1)
	return h.now.Load()
}

// pass moves the clock, and returns when the loop has checked its connections since.
func (h *handClock) pass(t *testing.T, d time.Duration) {
	t.Helper()
	h.now.Add(int64(d))
	seen := h.reads.Load()
	cachetest.Await(t, "the loop to go round", func() bool { return h.reads.Load() > seen+2 })
}

// openByHand is open with a clock that the test moves.
func openByHand(t *testing.T, change func(*Config)) (*rig, *handClock) {
	t.Helper()
	h := &handClock{}
	h.now.Store(1)
	return open(t, 1, func(cfg *Config) {
		cfg.Clock = h
		if change != nil {
			change(cfg)
		}
	}), h
}

// D6: a client has a bounded time for its first command, for the rest of one and between two. The
// others keep their places.
func TestOverdueClients(t *testing.T) {
	r, clock := openByHand(t, func(cfg *Config) { cfg.MaxClients = 4 })
	busy, silent, half, skips := r.dial(), r.dial(), r.dial(), r.dial()
	half.send("GET some\r\nSET key {100000}\r\nab")
	half.expect(notFound)
	skips.send("SET key {10000000}\r\n" + strings.Repeat("x", 50))
	skips.expect("ERROR " + tooLong(10000000, 1<<20, 0).text + "\r\n")
	ping := func() {
		t.Helper()
		busy.send("GET some\r\n")
		busy.expect(notFound)
	}
	ping()
	clock.pass(t, time.Second) // now it is seen that commands have begun
	if late := r.dial(); !strings.Contains(late.line(), "limit of clients") {
		t.Error("a client is admitted beyond the limit")
	}
	skips.send("x") // it is on the way
	ping()
	clock.pass(t, 30*time.Second)
	silent.end()
	ping()
	clock.pass(t, 8*time.Second) // 100000 bytes have 12 s more
	ping()
	clock.pass(t, 6*time.Second)
	half.end()
	ping()
	if n := r.listener.Stats(); n.Cut != 2 || n.Clients != 2 {
		t.Errorf("%+v", n)
	}
	clock.pass(t, 10*time.Minute-time.Second)
	ping()
	clock.now.Add(int64(10 * time.Minute))
	busy.end() // the loop sleeps from now on
	for _, why := range []string{"after it connected", "a part of a command", "sent no command for 10m0s"} {
		if !strings.Contains(r.log.String(), why) {
			t.Errorf("the log does not say %q: %s", why, r.log)
		}
	}
}

// What unfinished commands hold is bounded for all connections together, and every one of them can
// be finished.
func TestUnfinishedUploads(t *testing.T) {
	const n, size, limit = 30, 1 << 20, 4 << 20
	r, clock := openByHand(t, func(cfg *Config) { cfg.Uploads = limit })
	value := strings.Repeat("v", size)
	finish := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		c := r.dial()
		key := fmt.Sprint("key", i)
		if i%5 == 0 {
			key = strings.Repeat("k", 40000) + key // its line is longer than a buffer
		}
		wg.Go(func() {
			_, _ = io.WriteString(c, fmt.Sprintf("SET %s {%d}\r\n%s", key, size, value[1:]))
			<-finish
			_, _ = io.WriteString(c, "v\r\n")
			c.expect(stored)
		})
	}
	// As many as fit have come to rest before their last bytes, the others before their first long buffer.
	last := int64(-1)
	cachetest.Await(t, "the uploads to wait", func() bool {
		clock.pass(t, checkEvery+1)
		clock.pass(t, checkEvery+1)
		now := r.listener.Stats().Buffers
		same := now == last && now > 2*size
		last = now
		return same
	})
	if most := int64(limit + n*inSize); last > most {
		t.Errorf("%d uploads hold %d bytes, more than %d", n, last, most)
	}
	close(finish)
	wg.Wait()
	clock.pass(t, 2*time.Second)
	if held := r.listener.Stats().Buffers; held != 0 {
		t.Errorf("%d bytes are held for silent connections", held)
	}
}

// An upload that waits leaves its place to others when its client goes.
func TestWaitingUploadsThatEnd(t *testing.T) {
	r, clock := openByHand(t, func(cfg *Config) { cfg.Uploads = 1 })
	begin := func() *client {
		c := r.dial()
		c.send(fmt.Sprintf("SET key {%d}\r\n%s", 1<<20, strings.Repeat("v", 100<<10)))
		return c
	}
	first, second, third := begin(), begin(), begin() // for two there is memory
	clock.pass(t, checkEvery+1)
	_ = second.Close()
	_ = third.Close()
	rest := strings.Repeat("v", 1<<20-100<<10) + "\r\n"
	first.send(rest)
	first.expect(stored)
	last := begin()
	last.send(rest)
	last.expect(stored)
	cachetest.Await(t, "the closed connections to be noticed", func() bool {
		clock.pass(t, checkEvery+1)
		return r.listener.Stats().Clients == 2
	})
	_, _ = first.Close(), last.Close()
	cachetest.Await(t, "nothing to be held", func() bool {
		st := r.listener.Stats()
		return st.Clients == 0 && st.Buffers == 0
	})
}

// D3: a client that reads slowly is not taken for one that does not read, although its socket
// becomes writable only after long.
func TestSteadyReader(t *testing.T) {
	const stall = 30 * time.Second
	r, clock := openByHand(t, func(cfg *Config) { cfg.Backlog = 64 << 10 })
	other := r.dial() // keeps the loop going
	other.send("GET nothing\r\n")
	other.expect(notFound)
	c := r.dial()
	tcp, ok := c.Conn.(*net.TCPConn)
	if !ok {
		t.Fatal("not TCP")
	}
	_ = tcp.SetReadBuffer(32 << 10)
	const size, gets = 1 << 20, 16
	c.send(fmt.Sprintf("SET big {%d}\r\n%s\r\n", size, strings.Repeat("v", size)))
	c.expect(stored)
	c.send(strings.Repeat("GET big\r\n", gets))
	settled(r)
	clock.pass(t, time.Second)
	// More than the client's socket holds: the server's has got rid of some.
	part := make([]byte, 200<<10)
	for range 4 {
		if _, err := io.ReadFull(c.buf, part); err != nil {
			t.Fatal(err)
		}
		clock.pass(t, stall*9/10)
	}
	if cut := r.listener.Stats().Cut; cut != 0 {
		t.Errorf("cut: %s", r.log)
	}
	cachetest.Await(t, "a client that does not read any more to be cut off", func() bool {
		clock.now.Add(int64(stall))
		return strings.Contains(r.log.String(), "a client has to read while it sends")
	})
}

// The kernel is told to notice hosts that vanished.
func TestKeepalive(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	l := &loop{Listener: &Listener{cfg: Config{Stall: 30 * time.Second}}}
	l.tune(fd)
	for _, o := range []struct{ level, opt, want int }{
		{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 15},
		{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 3},
		{unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 60_000},
	} {
		if got, err := unix.GetsockoptInt(fd, o.level, o.opt); err != nil || got != o.want {
			t.Errorf("option %d is %d, %v; want %d", o.opt, got, err, o.want)
		}
	}
}
