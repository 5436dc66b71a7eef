package host

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// protocol is the version of the handshake.
const agentProtocol = 1

// greeting is the first line of an agent.
type greeting struct {
	Protocol int
	Version  string
	Nonce    string
}

// hello is the first line of a controller.
type hello struct {
	Protocol int
	Version  string
	Run      string
	Proof    string
}

// verdict is the answer to it.
type verdict struct{ Error string }

// Bounds (A3).
const (
	shakeTimeout = 10 * time.Second
	shakeLine    = 4 << 10
	// commandLine and answerLine bound a command and an answer, which has a histogram.
	commandLine = 1 << 20
	answerLine  = 16 << 20
	longestRun  = 64 // bytes of the name of a run
)

// prove makes the proof of who knows the token.
func prove(token, nonce, version, run string) string {
	mac := hmac.New(sha256.New, []byte(token))
	fmt.Fprintf(mac, "remora bench agent\n%s\n%q\n%q\n", nonce, version, run)
	return hex.EncodeToString(mac.Sum(nil))
}

// ErrLine is wrapped when a line is longer than it may be.
var ErrLine = errors.New("a line that is too long")

// bounded reads from r, and fails in a line of more than most bytes.
type bounded struct {
	r           io.Reader
	most, since int
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if i := bytes.LastIndexByte(p[:n], '\n'); i >= 0 {
		b.since = n - i - 1
	} else {
		b.since += n
	}
	if b.since > b.most {
		return 0, fmt.Errorf("%w: more than %d bytes", ErrLine, b.most)
	}
	return n, err
}

// readLine reads a line of the handshake, and not a byte more.
func readLine(r *bufio.Reader, into any) error {
	var line []byte
	for len(line) <= shakeLine {
		c, err := r.ReadByte()
		switch {
		case err != nil:
			return err
		case c == '\n':
			return json.Unmarshal(line, into)
		}
		line = append(line, c)
	}
	return fmt.Errorf("%w: more than %d bytes", ErrLine, shakeLine)
}

func writeLine(w io.Writer, what any) error { return json.NewEncoder(w).Encode(what) }

// tune makes the end of the other machine known (A5).
func tune(conn net.Conn) {
	if c, ok := conn.(*net.TCPConn); ok {
		_ = c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 3})
	}
}
