package kvl_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/remora-kv/remora/kvl"
)

// schemaOf returns the schema of an image with names.
func schemaOf(tb testing.TB, all ...string) *kvl.Schema {
	tb.Helper()
	b := newBuilder(tb, kvl.Config{Generation: 1})
	for i, name := range all {
		if n := number(tb, b, name); int(n) != i+1 {
			tb.Fatalf("%q has number %d, want %d", name, n, i+1)
		}
	}
	return seal(tb, b).Schema()
}

func TestSchema(t *testing.T) {
	all := []string{"student", "name", strings.Repeat("x", kvl.MaxName), "ä\x00"}
	s := schemaOf(t, all...)
	parsed, err := kvl.ParseSchema(s.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*kvl.Schema{s, parsed} {
		if s.Len() != len(all)+1 || s.Name(0) != "" || s.Name(99) != "" {
			t.Errorf("%d names, 0 is %q, 99 is %q", s.Len(), s.Name(0), s.Name(99))
		}
		for i, name := range all {
			if n, ok := s.Number(name); !ok || int(n) != i+1 || s.Name(n) != name {
				t.Errorf("%q has number %d, %v, whose name is %q", name, n, ok, s.Name(n))
			}
		}
		if _, ok := s.Number("unknown"); ok {
			t.Error("an unknown name has a number")
		}
	}
	if !bytes.Equal(parsed.Bytes(), s.Bytes()) {
		t.Error("the parsed schema has other bytes")
	}
}

func TestNamesThatCannotBe(t *testing.T) {
	b := newBuilder(t, kvl.Config{Generation: 1})
	if n, err := b.Name(""); err != nil || n != 0 {
		t.Errorf("no name has number %d, %v", n, err)
	}
	if _, err := b.Name(strings.Repeat("x", kvl.MaxName+1)); err == nil {
		t.Error("a name that is too long is accepted")
	}
	for i := range kvl.MaxNames {
		number(t, b, fmt.Sprint(i))
	}
	if _, err := b.Name("one more"); err == nil || !strings.Contains(err.Error(), "one more") {
		t.Errorf("%v, want an error that names the name", err)
	}
	if n, err := b.Name("7"); err != nil || n != 8 {
		t.Errorf("a name that was there has number %d, %v", n, err)
	}
	if s := seal(t, b).Schema(); s.Len() != kvl.MaxNames+1 {
		t.Errorf("%d names", s.Len())
	} else if _, err := kvl.ParseSchema(s.Bytes()); err != nil {
		t.Error(err)
	}
}

func TestCorruptSchemas(t *testing.T) {
	good := schemaOf(t, "a", "bc").Bytes()
	for name, b := range map[string][]byte{
		"nothing":       nil,
		"another magic": []byte("KVLX\x01\x00\x00\x00"),
		"format 2":      []byte("KVLS\x02\x00\x00\x00"),
		"a bit more":    append(bytes.Clone(good), 0),
		"a name twice":  []byte("KVLS\x01\x00\x02\x00\x01a\x01a"),
		"an empty name": []byte("KVLS\x01\x00\x01\x00\x00"),
	} {
		if _, err := kvl.ParseSchema(b); !errors.Is(err, kvl.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
	for n := range good {
		if _, err := kvl.ParseSchema(good[:n]); !errors.Is(err, kvl.ErrCorrupt) {
			t.Errorf("%d of %d bytes: %v, want ErrCorrupt", n, len(good), err)
		}
	}
}

func FuzzParseSchema(f *testing.F) {
	f.Add([]byte("KVLS\x01\x00\x00\x00"))
	f.Add([]byte("KVLS\x01\x00\x02\x00\x01a\x02bc"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := kvl.ParseSchema(b)
		if err != nil {
			if !errors.Is(err, kvl.ErrCorrupt) {
				t.Errorf("%v is not ErrCorrupt", err)
			}
			return
		}
		if !bytes.Equal(s.Bytes(), b) {
			t.Errorf("%q is parsed, and written as %q", b, s.Bytes())
		}
	})
}
