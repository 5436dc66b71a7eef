package text

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/remora-kv/remora/test/cachetest"
)

// conversation is all commands, with their answers.
var conversation = []struct{ say, hear string }{
	{"GET k\r\n", "NOT_FOUND\r\n"},
	{"SET k hello world\r\n", "STORED\r\n"},
	{"GET k\n", "VALUE 11\r\nhello world\r\n"},
	{"SET k {6}\r\na\r\nb\x00\xff\r\n", "STORED\r\n"},
	{"get k\r\n", "VALUE 6\r\na\r\nb\x00\xff\r\n"},
	{"SET empty {0}\r\n\r\n", "STORED\r\n"},
	{"GET empty\r\n", "VALUE 0\r\n\r\n"},
	{"DEL k\r\n", "DELETED\r\n"},
	{"DEL k\r\n", "NOT_FOUND\r\n"},
	{"FLUSH\r\n", "ERROR no such command: use GET key, SET key value, DEL key or QUIT\r\n"},
	{"SET fails x\r\n", "ERROR rejected by the handler\r\n"},
	{"SET full x\r\n", "ERROR the server has no memory for this item\r\n"},
	{"SET k {1048577}\r\n" + strings.Repeat("x", 1048577) + "\r\n", "ERROR a value of 1048577 bytes: this server takes up to 1048576\r\n"},
	{"GET k\r\n", "NOT_FOUND\r\n"},
	{"QUIT\r\n", "BYE\r\n"},
}

func TestConversation(t *testing.T) {
	for _, cores := range []int{1, 3} {
		r := open(t, cores, nil)
		c := r.dial()
		for _, x := range conversation {
			c.send(x.say)
			c.expect(x.hear)
		}
		c.end()
		if st := r.listener.Stats(); st.Accepted != 1 || st.Commands != uint64(len(conversation)) {
			t.Errorf("%+v", st)
		}
	}
}

// The answers are the same whether the commands arrive at once or byte by byte.
func TestPartsAndWholes(t *testing.T) {
	var all, answers strings.Builder
	for _, x := range conversation {
		if len(x.say) < 1000 {
			all.WriteString(x.say)
			answers.WriteString(x.hear)
		}
	}
	for _, part := range []int{1, 2, 3, 7, 1 << 20} {
		r := open(t, 2, nil)
		c := r.dial()
		for rest := all.String(); rest != ""; {
			n := min(part, len(rest))
			c.send(rest[:n])
			rest = rest[n:]
		}
		c.expect(answers.String())
		c.end()
	}
}

// D2: thousands of commands in flight, to all cores, are answered in order; more than
// a window, a mailbox or a socket holds.
func TestPipeline(t *testing.T) {
	r := open(t, 4, nil)
	c := r.dial()
	const n = 5000
	go func() {
		var b []byte
		for i := range n {
			b = fmt.Appendf(b[:0], "SET key-%d value %d\r\nGET key-%d\r\nGET nothing-%d\r\nDEL key-%d\r\n", i, i, i, i, i)
			if _, err := c.Write(b); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for i := range n {
		v := fmt.Sprint("value ", i)
		c.expect(fmt.Sprintf("STORED\r\nVALUE %d\r\n%s\r\nNOT_FOUND\r\nDELETED\r\n", len(v), v))
	}
}

// Hundreds of clients at the same time, each with commands of its own.
func TestManyClients(t *testing.T) {
	r := open(t, 2, nil)
	var wg sync.WaitGroup
	for i := range 300 {
		c := r.dial()
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for round := range 20 {
				v := strings.Repeat("x", random.IntN(3000)) + fmt.Sprint(i, round)
				if _, err := fmt.Fprintf(c, "SET k%d {%d}\r\n%s\r\nGET k%d\r\n", i, len(v), v, i); err != nil {
					t.Error(err)
					return
				}
				want := fmt.Sprintf("STORED\r\nVALUE %d\r\n%s\r\n", len(v), v)
				got := make([]byte, len(want))
				if _, err := io.ReadFull(c.buf, got); err != nil || string(got) != want {
					t.Errorf("client %d: %.80q, %v", i, got, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if st := r.listener.Stats(); st.Clients != 300 || st.Commands != 300*20*2 {
		t.Errorf("%+v", st)
	}
}

// Large values go both ways, in whatever parts they come.
func TestLargeValues(t *testing.T) {
	r := open(t, 2, nil)
	c := r.dial()
	for _, n := range []int{inSize - 20, inSize, 100_000, 1 << 20} {
		v := strings.Repeat("0123456789abcdef", n/16)
		c.send(fmt.Sprintf("SET big {%d}\r\n%s\r\nGET big\r\nGET big\r\n", len(v), v))
		c.expect(fmt.Sprintf("STORED\r\nVALUE %d\r\n%s\r\nVALUE %d\r\n%s\r\n", len(v), v, len(v), v))
	}
}

// D3: a client that sends but does not read is not read either, so that the memory for its
// answers is bounded. Others are served meanwhile, and it gets all answers when it reads.
func TestSlowReader(t *testing.T) {
	r := open(t, 1, func(cfg *Config) { cfg.Backlog = 64 << 10 })
	other := r.dial()
	other.send("SET big {20000}\r\n" + strings.Repeat("v", 20000) + "\r\n")
	other.expect("STORED\r\n")
	slow := r.dial()
	const n = 3000
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(slow, strings.Repeat("GET big\r\n", n)+"QUIT\r\n")
		sent <- err
	}()
	settled(r)
	if st := r.listener.Stats(); st.Commands >= n {
		t.Errorf("%d commands of a client that does not read were taken", st.Commands)
	}
	for range 10 {
		other.send("GET nothing\r\n")
		other.expect("NOT_FOUND\r\n")
	}
	want := "VALUE 20000\r\n" + strings.Repeat("v", 20000) + "\r\n"
	for range n {
		slow.expect(want)
	}
	slow.expect("BYE\r\n")
	slow.end()
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// D3: what is kept for a client that asks for long values and does not read is bounded in bytes,
// although nobody knows how long they are before they are read, and it gets all of them.
func TestLongValuesOfASlowReader(t *testing.T) {
	const n, long = 100, 1 << 20
	r := open(t, 2, func(cfg *Config) { cfg.Backlog = 64 << 10 })
	other := r.dial()
	for key, size := range map[string]int{"long": long, "longer": long / 2, "short": 100} {
		other.send(fmt.Sprintf("SET %s {%d}\r\n%s\r\n", key, size, strings.Repeat(key[:1], size)))
		other.expect("STORED\r\n")
	}
	ask := strings.Repeat("GET long\r\n", window) + strings.Repeat("GET long\r\nGET short\r\nDEL nothing\r\nGET longer\r\n", n/4)
	before := heap()
	slow := r.dial()
	slow.send(ask)
	settled(r)
	// A machine that stands still seems settled, too, and what it then goes on with allocates.
	cachetest.Await(t, "less than 8 MiB are kept for a client with a backlog of 64 KiB and values of 1 MiB", func() bool {
		return heap()-before <= 8*long
	})
	answer := func(key string, size int) string {
		return fmt.Sprintf("VALUE %d\r\n%s\r\n", size, strings.Repeat(key[:1], size))
	}
	for range window {
		slow.expect(answer("long", long))
	}
	for range n / 4 {
		slow.expect(answer("long", long) + answer("short", 100) + "NOT_FOUND\r\n" + answer("longer", long/2))
	}
	other.send("GET short\r\n")
	other.expect(answer("short", 100))
}

// heap returns how many bytes of the heap are in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// settled waits until no more commands are taken.
func settled(r *rig) {
	r.t.Helper()
	last := uint64(0)
	cachetest.Await(r.t, "the listener takes no more commands", func() bool {
		now := r.listener.Stats().Commands
		same := now == last && now > 1
		last = now
		time.Sleep(20 * time.Millisecond) //lint:allow sleep nothing tells that nothing happens
		return same
	})
}

// D3: a client that takes nothing is disconnected, and the log says why.
func TestStalledReader(t *testing.T) {
	r := open(t, 1, func(cfg *Config) { cfg.Backlog, cfg.Stall = 64<<10, 300*time.Millisecond })
	c := r.dial()
	c.send("SET big {500000}\r\n" + strings.Repeat("v", 500000) + "\r\n")
	c.expect("STORED\r\n")
	go func() { _, _ = io.WriteString(c, strings.Repeat("GET big\r\n", 1000)) }()
	cachetest.Await(t, "the client is cut off", func() bool { return r.listener.Stats().Cut == 1 })
	cachetest.Await(t, "the log says why", func() bool { return strings.Contains(r.log.String(), "a client has to read while it sends") })
}

// D5: the last answer reaches the client even if it continues to send.
func TestLastWords(t *testing.T) {
	for in, want := range map[string]string{
		strings.Repeat("x", 1<<20):                                 faultLine.text,
		"SET k {99999999999}\r\n" + strings.Repeat("y", 1<<20):     faultLength.text,
		"SET k {3}\r\nabcd\r\n" + strings.Repeat("GET k\r\n", 1e5): faultLineEnd.text,
		"QUIT\r\n" + strings.Repeat("GET k\r\n", 1e5):              "",
	} {
		r := open(t, 1, nil)
		c := r.dial()
		go func() { _, _ = io.WriteString(c, in) }()
		got := c.line()
		if want == "" && got != bye || want != "" && got != "ERROR "+want+"\r\n" {
			t.Errorf("%.20q: %q", in, got)
		}
		c.end()
	}
}

// A client that closes its sending side gets the answers to its commands.
func TestHalfClosed(t *testing.T) {
	r := open(t, 2, nil)
	c := r.dial()
	c.send(strings.Repeat("SET k v\r\nGET k\r\n", 500) + "GET unfinish")
	tcp, ok := c.Conn.(*net.TCPConn)
	if !ok {
		t.Fatal("not TCP")
	}
	if err := tcp.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	c.expect(strings.Repeat("STORED\r\nVALUE 1\r\nv\r\n", 500))
	c.end()
}

// The server does not wait for a client that ends inside a value that is too long.
func TestHalfClosedInATooLongValue(t *testing.T) {
	r := open(t, 1, func(cfg *Config) { cfg.MaxValue = 100 })
	for _, rest := range []string{"", strings.Repeat("x", 50), strings.Repeat("x", 101), strings.Repeat("x", 101) + "\r"} {
		c := r.dial()
		c.send("SET k {101}\r\n" + rest)
		tcp, ok := c.Conn.(*net.TCPConn)
		if !ok {
			t.Fatal("not TCP")
		}
		if err := tcp.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if got := c.line(); !strings.HasPrefix(got, "ERROR a value of 101 bytes") {
			t.Errorf("%q", got)
		}
		c.end()
	}
}

// An EOF that arrives with the last bytes is noticed.
func TestHalfClosedAtOnce(t *testing.T) {
	r := open(t, 2, nil)
	for range 200 {
		c := r.dial()
		c.send("GET k\r\n")
		c.expect("NOT_FOUND\r\n")
		c.send("GET k\r\n")
		tcp, ok := c.Conn.(*net.TCPConn)
		if !ok {
			t.Fatal("not TCP")
		}
		if err := tcp.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		c.expect("NOT_FOUND\r\n")
		c.end()
	}
}

// Clients that vanish while commands are in flight leave nothing behind, and no other client
// gets their results.
func TestVanishingClients(t *testing.T) {
	r := open(t, 2, nil)
	seed := r.dial()
	seed.send("SET k {5000}\r\n" + strings.Repeat("v", 5000) + "\r\n")
	seed.expect("STORED\r\n")
	for i := range 200 {
		c := r.dial()
		r.slow.Lock() // delays its answers until it is gone
		c.send(strings.Repeat("GET k\r\n", 1+i%100))
		if tcp, ok := c.Conn.(*net.TCPConn); ok && i%2 == 0 {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
		r.slow.Unlock()
		seed.send(fmt.Sprintf("SET own %d\r\nGET own\r\n", i))
		seed.expect(fmt.Sprintf("STORED\r\nVALUE %d\r\n%d\r\n", len(fmt.Sprint(i)), i))
	}
	cachetest.Await(t, "only one client is left", func() bool { return r.listener.Stats().Clients == 1 })
}

func TestTooManyClients(t *testing.T) {
	r := open(t, 1, func(cfg *Config) { cfg.MaxClients = 2 })
	a, b := r.dial(), r.dial()
	for _, c := range []*client{a, b} {
		c.send("GET k\r\n")
		c.expect("NOT_FOUND\r\n")
	}
	c := r.dial()
	if got := c.line(); !strings.Contains(got, "reached its limit of clients") {
		t.Errorf("%q", got)
	}
	_ = a.Close()
	cachetest.Await(t, "there is room", func() bool { return r.listener.Stats().Clients == 1 })
	d := r.dial()
	d.send("GET k\r\n")
	d.expect("NOT_FOUND\r\n")

	r.listener.SetMaxClients(1)
	if got := r.dial().line(); !strings.Contains(got, "limit of clients") {
		t.Errorf("with a limit of 1: %q", got)
	}
	for _, c := range []*client{b, d} { // they stay
		c.send("GET k\r\n")
		c.expect("NOT_FOUND\r\n")
	}
	r.listener.SetMaxClients(3)
	e := r.dial()
	e.send("GET k\r\n")
	e.expect("NOT_FOUND\r\n")
}

// Whatever a client sends, the listener serves others.
func TestHostileInput(t *testing.T) {
	r := open(t, 2, nil)
	good := r.dial()
	words := []string{"GET ", "SET ", "DEL ", "QUIT", "{5}", "{1048576}", "{-3}", "\r\n", "\n", " ", "k", "\x00", "\xff\xfe", "{", "}", strings.Repeat("long", 500)}
	random := rand.New(rand.NewPCG(8, 9))
	for range 300 {
		c := r.dial()
		var b strings.Builder
		for range random.IntN(40) {
			b.WriteString(words[random.IntN(len(words))])
		}
		if _, err := io.WriteString(c, b.String()); err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
			t.Fatal(err)
		}
		_ = c.Close()
		good.send("SET good value\r\nGET good\r\n")
		good.expect("STORED\r\nVALUE 5\r\nvalue\r\n")
	}
}

// StopListening admits no more clients; connected ones stay until Close.
func TestEnds(t *testing.T) {
	r := open(t, 1, nil)
	c := r.dial()
	c.send("SET k v\r\n")
	c.expect("STORED\r\n")
	r.listener.StopListening()
	cachetest.Await(t, "nobody comes in", func() bool {
		late, err := net.Dial("tcp", strings.TrimPrefix(r.addr, Scheme+"://"))
		if err == nil {
			_ = late.Close()
		}
		return err != nil
	})
	c.send("GET k\r\n")
	c.expect("VALUE 1\r\nv\r\n")
	if err := r.listener.Close(); err != nil {
		t.Fatal(err)
	}
	c.end()
	if err := r.listener.Close(); err != nil {
		t.Error(err)
	}
}

// Commands in flight when the listener is closed are answered.
func TestCloseAnswers(t *testing.T) {
	r := open(t, 2, nil)
	c := r.dial()
	c.send("SET k v\r\n")
	c.expect("STORED\r\n")
	r.slow.Lock()
	c.send("GET k\r\n")
	cachetest.Await(t, "the command is taken", func() bool { return r.listener.Stats().Commands == 2 })
	closed := make(chan error)
	go func() { closed <- r.listener.Close() }()
	r.slow.Unlock()
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	c.expect("VALUE 1\r\nv\r\n")
	c.end()
}

func TestAddresses(t *testing.T) {
	if host, err := ParseAddr("text://:7701"); err != nil || host != ":7701" || !IsAddr("text://:7701") || IsAddr("tcp://:7701") {
		t.Errorf("%q, %v", host, err)
	}
	for _, bad := range []string{"text:", "text://", "text://host", "tcp://:1", "text://:1/path", "text://:1?x=y", "text://[::1"} {
		if host, err := ParseAddr(bad); err == nil || !strings.Contains(err.Error(), "text://host:port") {
			t.Errorf("%s: %q, %v", bad, host, err)
		}
	}
	r := open(t, 1, nil)
	d, err := New(Config{Cores: 1, Wake: func(int) {}, Clock: wall{}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	if _, err := d.Listen(strings.TrimPrefix(r.addr, Scheme+"://")); !errors.Is(err, os.ErrExist) && !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("an address that is taken: %v", err)
	}
}
