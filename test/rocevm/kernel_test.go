package rocevm

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

const sampleShow = `Package: linux-image-amd64
Version: 6.1.190-1
Depends: linux-image-6.1.0-54-amd64 (= 6.1.190-1)
Description: Linux for 64-bit PCs (meta-package)

Package: linux-image-amd64
Version: 6.1.176-1
Depends: linux-image-6.1.0-50-amd64 (= 6.1.176-1)
`

func TestParseKernelPackage(t *testing.T) {
	p, err := parseKernelPackage(sampleShow)
	if err != nil {
		t.Fatal(err)
	}
	want := kernelPackage{name: "linux-image-6.1.0-54-amd64", release: "6.1.0-54-amd64", version: "6.1.190-1"}
	if p != want {
		t.Errorf("got %+v, want the candidate %+v", p, want)
	}
	if _, err := parseKernelPackage(""); err == nil || !strings.Contains(err.Error(), "apt-get update") {
		t.Errorf("without package lists: %v", err)
	}
}

func TestKernelKey(t *testing.T) {
	p := kernelPackage{release: "6.1.0-54-amd64", version: "1:6.1.190-1"}
	key := p.key([]string{"a"})
	if strings.ContainsAny(key, ":/") || !strings.HasPrefix(key, "6.1.0-54-amd64_") {
		t.Errorf("key %q cannot name a directory of its release", key)
	}
	if key == p.key([]string{"a", "b"}) {
		t.Error("another set of modules has the same key")
	}
}

func TestBzImagePayload(t *testing.T) {
	const setup, offset = 2, 0x20
	payload := string(xzMagic) + "kernel"
	image := make([]byte, (setup+1)*bootSector+offset)
	image[bootSetupSectors] = setup
	copy(image[bootMagic:], "HdrS")
	binary.LittleEndian.PutUint32(image[bootPayloadOffset:], offset)
	binary.LittleEndian.PutUint32(image[bootPayloadLength:], uint32(len(payload)))
	image = slices.Concat(image, []byte(payload+"behind"))
	got, err := bzImagePayload(image)
	if err != nil || string(got) != payload {
		t.Errorf("got %q, %v", got, err)
	}
	binary.LittleEndian.PutUint32(image[bootPayloadLength:], 1<<31)
	if _, err := bzImagePayload(image); err == nil {
		t.Error("a payload beyond the end was accepted")
	}
	if _, err := bzImagePayload([]byte("ELF")); err == nil {
		t.Error("something else was taken for a bzImage")
	}
}
