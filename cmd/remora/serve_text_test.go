package main

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/test/cachetest"
)

// A server says where its text listener is, and what clients of either kind store the
// others get.
func TestServeText(t *testing.T) {
	s := serve(t, 2, nil, "--listen", shmURL(t), "--listen", "text://127.0.0.1:0", "--cores", "2", "--engine", "shared-lru")
	host, ok := strings.CutPrefix(s.urls[1], "text://")
	if !ok {
		t.Fatalf("it listens on %v", s.urls)
	}
	s.ok("set", "greeting", "hello")
	c, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(cachetest.Watchdog))
	if _, err := io.WriteString(c, "GET greeting\r\nSET farewell good bye\r\nQUIT\r\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); err != nil || string(got) != "VALUE 5\r\nhello\r\nSTORED\r\nBYE\r\n" {
		t.Errorf("%q, %v", got, err)
	}
	if got := command(t, nil, nil, "get", "--server", s.urls[0], "farewell"); got.out != "good bye\n" && got.out != "good bye" {
		t.Errorf("%+v", got)
	}
	s.end()
}
