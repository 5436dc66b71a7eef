package text

import (
	"bytes"
	"strings"
	"testing"

	"github.com/remora-kv/remora/internal/command"
)

const testMax = 100

func TestParse(t *testing.T) {
	longKey := strings.Repeat("k", command.MaxKey)
	for _, c := range []struct {
		in    string
		want  request
		n     int // 0: all of in
		fault *fault
	}{
		{in: "GET k\r\n", want: request{verb: get, key: []byte("k")}},
		{in: "GET k\n", want: request{verb: get, key: []byte("k")}},
		{in: "get K{}#\xff\r\nGET other\r\n", want: request{verb: get, key: []byte("K{}#\xff")}, n: 11},
		{in: "Del k\r\n", want: request{verb: del, key: []byte("k")}},
		{in: "GET " + longKey + "\r\n", want: request{verb: get, key: []byte(longKey)}},
		{in: "SET k v\r\n", want: request{verb: set, key: []byte("k"), value: []byte("v")}},
		{in: "SET k two  words \r\n", want: request{verb: set, key: []byte("k"), value: []byte("two  words ")}},
		{in: "SET k {\r\n", want: request{verb: set, key: []byte("k"), value: []byte("{")}},
		{in: "SET k {}\r\n", want: request{verb: set, key: []byte("k"), value: []byte("{}")}},
		{in: "SET k {1}x\r\n", want: request{verb: set, key: []byte("k"), value: []byte("{1}x")}},
		{in: "SET k {-1}\r\n", want: request{verb: set, key: []byte("k"), value: []byte("{-1}")}},
		{in: "SET k {3}\r\na\nb\r\n", want: request{verb: set, key: []byte("k"), value: []byte("a\nb")}},
		{in: "SET k {3}\na\r\n\n", want: request{verb: set, key: []byte("k"), value: []byte("a\r\n")}},
		{in: "SET k {0}\r\n\r\n", want: request{verb: set, key: []byte("k"), value: []byte{}}},
		{in: "SET k {00002}\r\nab\r\nQUIT\r\n", want: request{verb: set, key: []byte("k"), value: []byte("ab")}, n: 19},
		{in: "QUIT\r\n", want: request{verb: quit}},
		{in: "\r\n", fault: faultEmpty},
		{in: "\n", fault: faultEmpty},
		{in: " GET k\r\n", fault: faultVerb},
		{in: "FLUSH\r\n", fault: faultVerb},
		{in: "GETT k\r\n", fault: faultVerb},
		{in: "\x00\x01\x02\n", fault: faultVerb},
		{in: "GET\r\n", fault: faultGet},
		{in: "GET \r\n", fault: faultGet},
		{in: "GET / HTTP/1.1\r\n", fault: faultGet},
		{in: "DEL a b\r\n", fault: faultDel},
		{in: "GET a\x01\r\n", fault: faultKey},
		{in: "GET " + longKey + "k\r\n", fault: faultKey},
		{in: "QUIT now\r\n", fault: faultQuit},
		{in: "SET\r\n", fault: faultSet},
		{in: "SET k\r\n", fault: faultSet},
		{in: "SET k \r\n", fault: faultSet},
		{in: "SET  v\r\n", fault: faultSet},
		{in: "SET a\tb {2}\r\nxy\r\n", fault: faultKey},
		{in: "SET k {2}\r\nabc\r\n", n: -1, fault: faultLineEnd},
		{in: "SET k {2}\r\nab\rx", n: -1, fault: faultLineEnd},
		{in: "SET k {99999999999999999999}\r\n", fault: faultLength},
		{in: strings.Repeat("x", MaxLine+2), fault: faultLine},
	} {
		n := c.n
		if n == 0 {
			n = len(c.in)
		}
		r, got, _, f := parse([]byte(c.in), testMax)
		if f != c.fault || n > 0 && got != n {
			t.Errorf("%.40q: %d bytes of %d, %+v", c.in, got, n, f)
		}
		if f == nil && (r.verb != c.want.verb || !bytes.Equal(r.key, c.want.key) || !bytes.Equal(r.value, c.want.value)) {
			t.Errorf("%.40q: verb %d, key %.20q, value %.20q", c.in, r.verb, r.key, r.value)
		}
		if c.fault != nil {
			continue
		}
		// No prefix of it is a command, and want is never too large.
		for i := range min(n, 200) {
			if _, got, want, f := parse([]byte(c.in[:i]), testMax); got != 0 || f != nil || want <= i || want > n {
				t.Errorf("%.40q: the first %d bytes are %d bytes of a command that wants %d, %v", c.in, i, got, want, f)
			}
		}
	}
}

// A value that is too long is refused before it arrives, with the number of bytes to skip.
func TestParseTooLong(t *testing.T) {
	for in, skip := range map[string]int{
		"SET k {101}\r\n":                                101,
		"SET k {2147483647}\r\n":                         2147483647,
		"SET k " + strings.Repeat("v", testMax+1) + "\n": 0,
	} {
		_, n, _, f := parse([]byte(in), testMax)
		if f == nil || f.last || f.skip != skip || n != len(in) || !strings.Contains(f.text, "takes up to 100") {
			t.Errorf("%.20q: %d bytes, %+v", in, n, f)
		}
	}
}

// For any input: a command lies inside it, has a valid key, and is the same when more follows;
// and the next command can be found.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"GET k\r\n", "SET k v\n", "SET k {3}\r\nabc\r\nGET k\r\n", "DEL k\r\n", "QUIT\r\n", "SET k {9999}\r\n", "\xff\n", "SET k {3}\r\nab"} {
		f.Add([]byte(s), 2)
	}
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		r, n, want, fault := parse(b, testMax)
		switch {
		case n < 0 || n > len(b):
			t.Fatalf("%d bytes of %d", n, len(b))
		case n == 0 && fault == nil && want <= len(b):
			t.Fatalf("not whole with %d bytes, but it wants %d", len(b), want)
		case n == 0 && fault != nil && !fault.last:
			t.Fatalf("a fault that neither ends the connection nor consumes input: %q", fault.text)
		case n != 0 && fault == nil && r.verb != quit && !isKey(r.key):
			t.Fatalf("a key %q", r.key)
		case fault != nil && strings.ContainsAny(fault.text, "\r\n"):
			t.Fatalf("an answer of two lines: %q", fault.text)
		case n == 0 || fault != nil:
			return
		}
		again, m, _, fault := parse(append(bytes.Clone(b[:n]), "rest"...), testMax)
		if m != n || fault != nil || again.verb != r.verb || !bytes.Equal(again.key, r.key) || !bytes.Equal(again.value, r.value) {
			t.Fatalf("%q parses differently when more input follows", b[:n])
		}
		if cut > 0 && cut < n {
			if _, m, _, fault := parse(b[:cut], testMax); m != 0 || fault != nil {
				t.Fatalf("%q is a command, and so is %q", b[:n], b[:cut])
			}
		}
	})
}
