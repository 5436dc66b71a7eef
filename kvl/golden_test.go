package kvl_test

import (
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/remora-kv/remora/kvl"
)

var rewrite = flag.Bool("rewrite", false, "write the golden file anew: a change of it is a change of the format")

// The bytes of an image match the format in the package doc.
func TestBytesOfAnImage(t *testing.T) {
	m := newModel()
	m.item("student", "student/Ada", map[string]any{"name": []byte("Ada"), "supervisor": "professor/Kim"})
	m.item("student", "student/Ben", map[string]any{"name": []byte("Ben"), "supervisor": ""})
	m.item("professor", "professor/Kim", map[string]any{"students": []string{"student/Ada", "student/Ben", "student/Ada"}})
	image := m.build(t, kvl.Config{Generation: 0x0102030405060708, Inline: 1})
	var text strings.Builder
	text.WriteString("schema\n" + hex.Dump(image.Schema().Bytes()))
	for _, a := range image.Areas() {
		text.WriteString("area\n" + hex.Dump(a.Bytes()))
	}
	file := filepath.Join("testdata", "image.txt")
	if *rewrite {
		if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text.String() != string(want) {
		t.Errorf("the bytes have changed: a new format is needed, or go test -rewrite. Got:\n%s", text.String())
	}
}
