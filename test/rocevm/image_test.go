package rocevm

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestInitrdHasTwoArchives checks that the payload begins where the kernel looks
// for a second archive, and holds a whole directory.
func TestInitrdHasTwoArchives(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
		return p
	}
	b := &base{path: filepath.Join(dir, "base.cpio"), files: map[string]bool{}}
	if err := writeBase(b.path, []File{{Host: write("busybox", "box"), Guest: "/bin/busybox"}}); err != nil {
		t.Fatal(err)
	}
	write("data/one", "1")
	write("data/sub/two", "2")
	payload, err := payloadFiles(t.Context(), b, write("agent", "agent"), []File{{Host: filepath.Join(dir, "data"), Guest: "/data"}})
	if err != nil {
		t.Fatal(err)
	}
	initrd := filepath.Join(dir, "initrd")
	if err := writeInitrd(initrd, b, payload); err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(initrd)
	if err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(b.path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(image, first) {
		t.Fatal("the image does not begin with the base")
	}
	start := (len(first) + initrdAlign - 1) / initrdAlign * initrdAlign
	found := map[string]string{}
	for _, e := range readCPIO(t, image[start:]) {
		found[e.name] = e.content
	}
	for name, content := range map[string]string{"usr/bin/rocevm-agent": "agent", "data/one": "1", "data/sub/two": "2"} {
		if found[name] != content {
			t.Errorf("%s holds %q, want %q", name, found[name], content)
		}
	}
	names := map[string]bool{}
	for _, e := range readCPIO(t, first) {
		names[e.name] = true
	}
	for _, name := range []string{"init", "bin/busybox", "etc/hosts", "proc", "dev"} {
		if !names[name] {
			t.Errorf("no %s in the base", name)
		}
	}
}

func TestPayloadNamesMissingFile(t *testing.T) {
	if _, err := payloadFiles(t.Context(), &base{}, "/bin/sh", []File{{Host: "/no/such", Guest: "/x"}}); err == nil {
		t.Error("a missing file was accepted")
	}
}
