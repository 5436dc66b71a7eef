package fabric

import (
	"errors"
	"strings"
	"testing"
)

func TestParseAddr(t *testing.T) {
	for _, tc := range []struct{ in, fabric, name, back string }{
		{"loop:x", "loop", "x", "loop:x"},
		{"shm:/run/remora.sock", "shm", "/run/remora.sock", "shm:/run/remora.sock"},
		{"shm:relative.sock", "shm", "relative.sock", "shm:relative.sock"},
		{"shm:///run/remora.sock", "shm", "/run/remora.sock", "shm:/run/remora.sock"},
		{"tcp://127.0.0.1:0", "tcp", "127.0.0.1:0", "tcp://127.0.0.1:0"},
		{"tcp://[::1]:7400", "tcp", "[::1]:7400", "tcp://[::1]:7400"},
		{"rdma://h:1?gid=3&device=mlx5_0", "rdma", "h:1", "rdma://h:1?device=mlx5_0&gid=3"},
	} {
		a, err := ParseAddr(tc.in)
		if err != nil {
			t.Errorf("%q: %v", tc.in, err)
			continue
		}
		if a.Fabric != tc.fabric || a.Name != tc.name || a.String() != tc.back {
			t.Errorf("%q is %+v, in words %q", tc.in, a, a)
		}
	}
}

func TestParseAddrRefuses(t *testing.T) {
	for in, why := range map[string]string{
		"":                    "no fabric",
		"/run/x.sock":         "no fabric",
		"redis://h:1":         "unknown fabric",
		"tcp://host":          "no host:port",
		"tcp://host:":         "no host:port",
		"tcp://h:1/path":      "has a path",
		"shm://host/x":        "names a host",
		"shm:":                "names nothing",
		"loop:":               "names nothing",
		"tcp://h:1?a=%zz":     "broken query",
		"shm:/x\x7f":          "not a URL",
		"tcp://[::1:7400?x=1": "not a URL",
	} {
		_, err := ParseAddr(in)
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want one that says %q", in, err, why)
		}
	}
}

func FuzzParseAddr(f *testing.F) {
	f.Add("shm:/run/remora.sock")
	f.Add("shm:////")
	f.Add("rdma://h:1?device=mlx5_0&gid=auto")
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAddr(s)
		if err != nil {
			return
		}
		b, err := ParseAddr(a.String())
		if err != nil || b.String() != a.String() {
			t.Errorf("%q becomes %q, which becomes %q: %v", s, a, b, err)
		}
	})
}
