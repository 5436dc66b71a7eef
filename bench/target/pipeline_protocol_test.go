package target

import (
	"errors"
	"strings"
	"testing"
)

func protocols() map[string]Protocol {
	return map[string]Protocol{"memcached": Memcached{}, "meta": Meta{}, "resp": RESP{}, "text": Text{}}
}

func TestRequests(t *testing.T) {
	for name, want := range map[string][2]string{
		"memcached": {"get abc\r\n", "set abc 0 0 5\r\n"},
		"meta":      {"mg abc v\r\n", "ms abc 5\r\n"},
		"text":      {"GET abc\r\n", "SET abc {5}\r\n"},
		"resp":      {"*2\r\n$3\r\nGET\r\n$3\r\nabc\r\n", "*3\r\n$3\r\nSET\r\n$3\r\nabc\r\n$5\r\n"},
	} {
		p := protocols()[name]
		if get, set := string(p.Get(nil, []byte("abc"))), string(p.Set(nil, []byte("abc"), 5)); get != want[0] || set != want[1] {
			t.Errorf("%s: %q and %q", name, get, set)
		}
	}
}

// An answer is read when all of it is there, and not before.
func TestAnswers(t *testing.T) {
	for _, tc := range []struct {
		proto, text string
		want        Answer
	}{
		{"memcached", "STORED\r\n", Answer{Kind: Stored}},
		{"memcached", "END\r\n", Answer{Kind: Miss}},
		{"memcached", "VALUE k 0 5\r\nhello\r\nEND\r\n", Answer{Found, []byte("hello")}},
		{"memcached", "VALUE k 0 0\r\n\r\nEND\r\n", Answer{Found, []byte("")}},
		{"memcached", "VALUE k 0 4\r\n\r\n\r\n\r\nEND\r\n", Answer{Found, []byte("\r\n\r\n")}},
		{"memcached", "SERVER_ERROR out of memory\r\n", Answer{Failed, []byte("SERVER_ERROR out of memory")}},
		{"meta", "HD\r\n", Answer{Kind: Stored}},
		{"meta", "HD O7\r\n", Answer{Kind: Stored}},
		{"meta", "EN\r\n", Answer{Kind: Miss}},
		{"meta", "VA 5\r\nhello\r\n", Answer{Found, []byte("hello")}},
		{"meta", "VA 5 f0 t-1\r\nhello\r\n", Answer{Found, []byte("hello")}},
		{"meta", "VA 0\r\n\r\n", Answer{Found, []byte("")}},
		{"meta", "NS\r\n", Answer{Failed, []byte("NS")}},
		{"meta", "ENOUGH\r\n", Answer{Failed, []byte("ENOUGH")}},
		{"meta", "SERVER_ERROR out of memory\r\n", Answer{Failed, []byte("SERVER_ERROR out of memory")}},
		{"text", "STORED\r\n", Answer{Kind: Stored}},
		{"text", "NOT_FOUND\r\n", Answer{Kind: Miss}},
		{"text", "VALUE 5\r\nhello\r\n", Answer{Found, []byte("hello")}},
		{"text", "VALUE 0\r\n\r\n", Answer{Found, []byte("")}},
		{"text", "ERROR why\r\n", Answer{Failed, []byte("ERROR why")}},
		{"resp", "+OK\r\n", Answer{Kind: Stored}},
		{"resp", "$-1\r\n", Answer{Kind: Miss}},
		{"resp", "$5\r\nhello\r\n", Answer{Found, []byte("hello")}},
		{"resp", "$0\r\n\r\n", Answer{Found, []byte("")}},
		{"resp", "-OOM command not allowed\r\n", Answer{Failed, []byte("OOM command not allowed")}},
	} {
		p := protocols()[tc.proto]
		for n := range len(tc.text) {
			if a, size, want, err := p.Answer([]byte(tc.text[:n])); size != 0 || err != nil || want <= n || want > len(tc.text) {
				t.Errorf("%q gave %+v of %d bytes, wants %d, %v", tc.text[:n], a, size, want, err)
			}
		}
		a, size, _, err := p.Answer([]byte(tc.text + "more"))
		if err != nil || size != len(tc.text) || a.Kind != tc.want.Kind || string(a.Value) != string(tc.want.Value) {
			t.Errorf("%q gave %+v of %d bytes, %v", tc.text, a, size, err)
		}
		if (a.Err() != nil) != (tc.want.Kind == Failed) {
			t.Errorf("%q is the error %v", tc.text, a.Err())
		}
	}
}

func TestWhatIsNoAnswer(t *testing.T) {
	for _, tc := range []struct{ proto, text string }{
		{"memcached", "VALUE k 0 five\r\n"},
		{"memcached", "VALUE k 0 \r\n"},
		{"memcached", "VALUE k 0 99999999999999999999\r\n"},
		{"memcached", "VALUE k 0 2\r\nhello, world\r\n"},
		{"memcached", strings.Repeat("x", 5000)},
		{"meta", "VA five\r\n"},
		{"meta", "VA  f0\r\n"},
		{"meta", "VA 2\r\nhello\r\n"},
		{"text", "VALUE five\r\n"},
		{"text", "VALUE \r\n"},
		{"text", "VALUE 2\r\nhello, world\r\n"},
		{"resp", "\r\n"},
		{"resp", ":7\r\n"},
		{"resp", "$x\r\n"},
		{"resp", "$-2\r\n"},
		{"resp", "$2\r\nhello\r\n"},
	} {
		if a, _, _, err := protocols()[tc.proto].Answer([]byte(tc.text)); !errors.Is(err, ErrProtocol) {
			t.Errorf("%.40q gave %+v, %v", tc.text, a, err)
		}
	}
}

// Whatever a server says, it is an answer, part of one, or an error.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("VALUE k 0 5\r\nhello\r\nEND\r\n"))
	f.Add([]byte("VA 5 f0\r\nhello\r\n"))
	f.Add([]byte("$5\r\nhello\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, p := range protocols() {
			a, size, want, err := p.Answer(b)
			switch {
			case err != nil:
			case size == 0 && want <= len(b):
				t.Errorf("%s: %q is part of an answer of %d bytes", name, b, want)
			case size > len(b) || len(a.Value) > size:
				t.Errorf("%s: %q is an answer of %d bytes with a value of %d", name, b, size, len(a.Value))
			}
		}
	})
}
