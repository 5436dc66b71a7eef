package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sample = "path,batch,rate\nrfp,1,10\nrfp,2,18\nreply,1,9\nreply,2,15\n"

func TestDraw(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.csv")
	if err := os.WriteFile(in, []byte(sample), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range []figure{
		{x: "batch", y: "rate", by: "path", title: "Throughput", out: "a.svg"},
		{x: "batch", y: "rate", by: "path", logX: true, logY: true, out: "b.svg"},
	} {
		f.out = filepath.Join(dir, f.out)
		if err := f.draw(in); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(f.out)
		if err != nil || !bytes.Contains(b, []byte("<svg")) || !bytes.Contains(b, []byte("reply")) {
			t.Errorf("%d bytes, %v", len(b), err)
		}
	}
}

func TestMistakes(t *testing.T) {
	f := figure{x: "batch", y: "rate", by: "path"}
	for in, want := range map[string]string{
		"path,batch,rate\n":        "no rows",
		"path,batch\na,b\n":        `no column "rate"`,
		"path,batch,rate\na,b,c\n": "invalid syntax",
	} {
		if _, err := f.read(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gave %v, want %q", in, err, want)
		}
	}
}
