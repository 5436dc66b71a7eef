package load

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/store"
)

func TestParse(t *testing.T) {
	for line, want := range map[string]TraceRecord{
		"get,a":              {Op: Get, Key: []byte("a"), Size: -1},
		"get,a,":             {Op: Get, Key: []byte("a"), Size: -1},
		"get,a,12":           {Op: Get, Key: []byte("a"), Size: 12},
		"set,user:1,0":       {Op: Put, Key: []byte("user:1"), Size: 0},
		"set,k,67108864,0":   {Op: Put, Key: []byte("k"), Size: 64 << 20},
		"set,k,5,3600":       {Op: Put, Key: []byte("k"), Size: 5, TTL: time.Hour},
		"del,k":              {Op: Delete, Key: []byte("k"), Size: -1},
		"del,k,,":            {Op: Delete, Key: []byte("k"), Size: -1},
		"get,schlüssel,1,1":  {Op: Get, Key: []byte("schlüssel"), Size: 1, TTL: time.Second},
		"set,k,5,3153600000": {Op: Put, Key: []byte("k"), Size: 5, TTL: maxTTL},
	} {
		var r TraceRecord
		if err := ParseTraceLine([]byte(line), &r); err != nil || r.Op != want.Op || string(r.Key) != string(want.Key) || r.Size != want.Size || r.TTL != want.TTL {
			t.Errorf("%q became %+v, %v", line, r, err)
		}
	}
	for line, want := range map[string]string{
		"":                                 "use get, set or del",
		"GET,a":                            "use get, set or del",
		"incr,a":                           "use get, set or del",
		"get":                              "a key of 0 bytes",
		"get,":                             "a key of 0 bytes",
		"get,a b":                          "spaces",
		"get,a\x00":                        "spaces",
		`get,"a"`:                          "quotes",
		"set,a":                            "without a size",
		"set,a,,5":                         "without a size",
		"set,a,-1":                         "size",
		"set,a,67108865":                   "size",
		"set,a,1e3":                        "size",
		"set,a,5,x":                        "ttl",
		"set,a,5,1,2":                      "ttl",
		"set,a,5,3153600001":               "ttl",
		"set,a,99999999999999999999999999": "size",
		"get," + strings.Repeat("k", store.MaxKey+1): "65536 bytes",
	} {
		var r TraceRecord
		if err := ParseTraceLine([]byte(line), &r); !errors.Is(err, ErrTraceLine) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q gave %v, want %q", line, err, want)
		}
	}
}

// write makes a file of lines.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	data := []byte(text)
	if strings.HasSuffix(name, ".gz") {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(data)
		_ = w.Close()
		data = b.Bytes()
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// all reads a share to its end, but no more than so many lines.
func all(t *testing.T, path string, n, of int, again bool, most int) (out []string, err error) {
	t.Helper()
	r, err := OpenTrace(path, n, of, again, 100)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	for len(out) < most {
		record, hash, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return out, err
		}
		if hash != HashKey(record.Key) {
			t.Errorf("the hash of %q is %d", record.Key, hash)
		}
		out = append(out, fmt.Sprintf("%d %s %d", record.Op, record.Key, record.Size))
	}
	return out, nil
}

func TestFiles(t *testing.T) {
	const text = "# a comment\nop,key,size,ttl\n\nget,a\r\nset,b,3\n#set,c,3\ndel,a"
	const headed = "op,key,size,ttl\nget,a\nset,b,3\ndel,a\n"
	for name, content := range map[string]string{"a.csv": strings.Replace(text, "op,key,size,ttl\n", "", 1), "b.csv": headed, "c.csv.gz": headed} {
		got, err := all(t, write(t, name, content), 0, 1, false, 100)
		if want := "[0 a -1 1 b 3 4 a -1]"; err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v, want %s", name, got, err, want)
		}
	}
}

// T3: file and line are named.
func TestBadLinesAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"get,a\n# x\n\npush,a\n":                            "bad.csv:4: ",
		"get,a\nop,key,size,ttl\n":                          "bad.csv:2: ",
		"get,a\nget," + strings.Repeat("x", 101) + "\n":     "bad.csv:2: ",
		"get,a\nget," + strings.Repeat("x", 300_000) + "\n": "bad.csv:2: ",
	} {
		if _, err := all(t, write(t, "bad.csv", text), 0, 1, false, 100); !errors.Is(err, ErrTraceLine) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q gave %v, want %q", text, err, want)
		}
	}
	if _, err := all(t, write(t, "x.csv", "not packed"), 0, 1, false, 1); !errors.Is(err, ErrTraceLine) {
		t.Errorf("no trace gave %v", err)
	}
	path := write(t, "x.csv", "get,a\n")
	if err := os.Rename(path, path+".gz"); err != nil {
		t.Fatal(err)
	}
	if _, err := all(t, path+".gz", 0, 1, false, 1); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, gzip.ErrHeader) {
		t.Errorf("what is not packed gave %v", err)
	}
	if _, err := all(t, path+".none", 0, 1, false, 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing gave %v", err)
	}
}

// T2: every line is of exactly one share, all of a key of the same, in order.
func TestShares(t *testing.T) {
	var text strings.Builder
	const lines, keys, shares = 5000, 300, 3
	for i := range lines {
		fmt.Fprintf(&text, "set,key-%d,%d\n", i*7919%keys, i)
	}
	path := write(t, "a.csv", text.String())
	owner, last, total := make(map[string]int), make(map[string]int), 0
	for n := range shares {
		got, err := all(t, path, n, shares, false, lines)
		if err != nil || len(got) < lines/shares/2 {
			t.Fatalf("share %d has %d lines, %v", n, len(got), err)
		}
		total += len(got)
		for _, s := range got {
			var op, size int
			var key string
			if _, err := fmt.Sscanf(s, "%d %s %d", &op, &key, &size); err != nil {
				t.Fatal(err)
			}
			if of, seen := owner[key]; seen && (of != n || size <= last[key]) {
				t.Fatalf("%s is of shares %d and %d, or out of order", key, of, n)
			}
			owner[key], last[key] = n, size
		}
	}
	if total != lines {
		t.Errorf("%d lines of %d", total, lines)
	}
}

// Again and again it begins anew; a share without lines ends.
func TestAgain(t *testing.T) {
	path := write(t, "a.csv.gz", "op,key\nget,a\nget,b\n")
	got, err := all(t, path, 0, 1, true, 5)
	if want := "[0 a -1 0 b -1 0 a -1 0 b -1 0 a -1]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := all(t, write(t, "empty.csv", "# nothing\n"), 0, 1, true, 5); err != nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestTraceAllocatesNothing(t *testing.T) {
	r, err := OpenTrace(write(t, "a.csv", "set,a-key-7,100,5\nget,b\n"), 0, 1, true, 100)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if n := testing.AllocsPerRun(1000, func() {
		if _, _, err := r.Next(); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a line", n)
	}
}

// Whatever a line says, it is refused, or is within the limits and is the same when it is
// written again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"get,a", "set,b,100,60", "del,c,,", "set,,1", "get,a b", "op,key,size,ttl", "set,a,1,1,1", ",,,"} {
		f.Add([]byte(s))
	}
	names := map[Op]string{Get: "get", Put: "set", Delete: "del"}
	f.Fuzz(func(t *testing.T, line []byte) {
		var r, again TraceRecord
		if err := ParseTraceLine(line, &r); err != nil {
			if !errors.Is(err, ErrTraceLine) {
				t.Fatal(err)
			}
			return
		}
		if len(r.Key) == 0 || len(r.Key) > store.MaxKey || bytes.ContainsAny(r.Key, " ,\r\n\"") || r.Size < -1 || r.Size > maxSize || r.TTL < 0 || r.TTL > maxTTL {
			t.Fatalf("%q became %+v", line, r)
		}
		size := ""
		if r.Size >= 0 {
			size = fmt.Sprint(r.Size)
		}
		text := fmt.Sprintf("%s,%s,%s,%d", names[r.Op], r.Key, size, r.TTL/time.Second)
		if err := ParseTraceLine([]byte(text), &again); err != nil || again.Op != r.Op || !bytes.Equal(again.Key, r.Key) || again.Size != r.Size || again.TTL != r.TTL {
			t.Fatalf("%q became %+v, %q, and then %+v, %v", line, r, text, again, err)
		}
	})
}

func BenchmarkNext(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.csv")
	if err := os.WriteFile(path, bytes.Repeat([]byte("get,user:1234567890,100\n"), 100_000), 0o600); err != nil {
		b.Fatal(err)
	}
	r, err := OpenTrace(path, 0, 1, true, 100)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for b.Loop() {
		if _, _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}
