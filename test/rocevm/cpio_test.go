package rocevm

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// cpioEntry is what a reader of an archive sees.
type cpioEntry struct {
	name    string
	mode    uint64
	content string
}

// readCPIO reads an archive of the newc format strictly.
func readCPIO(t *testing.T, archive []byte) []cpioEntry {
	t.Helper()
	align := func(n int) int { return (n + 3) &^ 3 }
	var entries []cpioEntry
	for off := 0; ; {
		if len(archive) < off+110 || string(archive[off:off+6]) != "070701" {
			t.Fatalf("no header at %d", off)
		}
		field := func(i int) int {
			n, err := strconv.ParseUint(string(archive[off+6+8*i:off+14+8*i]), 16, 32)
			if err != nil {
				t.Fatalf("field %d at %d: %v", i, off, err)
			}
			return int(n)
		}
		mode, size, nameSize := field(1), field(6), field(11)
		nameEnd := off + 110 + nameSize
		name := string(archive[off+110 : nameEnd-1])
		if archive[nameEnd-1] != 0 {
			t.Fatalf("name %q does not end in a zero byte", name)
		}
		data := align(nameEnd)
		if name == cpioTrailer {
			if data != len(archive) {
				t.Fatalf("%d bytes behind the trailer", len(archive)-data)
			}
			return entries
		}
		entries = append(entries, cpioEntry{name, uint64(mode), string(archive[data : data+size])})
		off = align(data + size)
	}
}

func TestCPIO(t *testing.T) {
	host := filepath.Join(t.TempDir(), "tool")
	if err := os.WriteFile(host, []byte("program"), 0o755); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	c := newCPIOWriter(&archive)
	steps := []error{
		c.dir("/proc"),
		c.bytes("/etc/deep/hosts", 0o644, []byte("127.0.0.1\n")),
		c.bytes("etc/deep/empty", 0o600, nil),
		c.link("/bin/sh", "busybox"),
		c.copy("/bin/tool", host),
		c.dir("/etc"), // is there already
		c.close(),
	}
	for i, err := range steps {
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	want := []cpioEntry{
		{"proc", 0o40755, ""},
		{"etc", 0o40755, ""},
		{"etc/deep", 0o40755, ""},
		{"etc/deep/hosts", 0o100644, "127.0.0.1\n"},
		{"etc/deep/empty", 0o100600, ""},
		{"bin", 0o40755, ""},
		{"bin/sh", 0o120777, "busybox"},
		{"bin/tool", 0o100755, "program"},
	}
	if got := readCPIO(t, archive.Bytes()); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// TestCPIOHeader holds a header to its bytes, from the kernel's
// Documentation/driver-api/early-userspace/buffer-format.rst.
func TestCPIOHeader(t *testing.T) {
	var archive bytes.Buffer
	c := newCPIOWriter(&archive)
	if err := c.bytes("a", 0o644, []byte("hi")); err != nil {
		t.Fatal(err)
	}
	want := "070701" + "00000001" + "000081a4" + "00000000" + "00000000" + "00000001" + "00000000" +
		"00000002" + "00000000" + "00000000" + "00000000" + "00000000" + "00000002" + "00000000" +
		"a\x00" + "hi\x00\x00"
	if archive.String() != want {
		t.Errorf("got  %q\nwant %q", archive.String(), want)
	}
}

func TestCPIOErrors(t *testing.T) {
	c := newCPIOWriter(&bytes.Buffer{})
	if err := c.copy("/x", t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory as a file: %v", err)
	}
	if err := c.copy("/x", "/no/such/file"); err == nil {
		t.Error("a missing file was added")
	}
	// A reader that ends early must not pass for a whole file.
	if err := c.file("/short", 0o644, 10, strings.NewReader("four")); err == nil || !strings.Contains(err.Error(), "short") {
		t.Errorf("a file shorter than it said: %v", err)
	}
	if err := c.close(); err == nil {
		t.Error("an archive with an error was closed without one")
	}
}
