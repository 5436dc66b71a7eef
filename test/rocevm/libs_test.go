package rocevm

import (
	"slices"
	"strings"
	"testing"
)

func TestParseLdd(t *testing.T) {
	got, err := parseLdd("/usr/bin/a:\n" +
		"\tlinux-vdso.so.1 (0x00007fd7cf8f4000)\n" +
		"\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007fd7cf7c9000)\n" +
		"\t/lib64/ld-linux-x86-64.so.2 (0x00007fd7cf8f6000)\n" +
		"/usr/bin/b:\n" +
		"\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007fd7cf7c9000)\n" +
		"\tstatically linked\n")
	want := []string{"/lib/x86_64-linux-gnu/libm.so.6", "/lib64/ld-linux-x86-64.so.2"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	_, err = parseLdd("\tlibefa.so.1 => not found\n")
	if err == nil || !strings.Contains(err.Error(), "libefa.so.1") {
		t.Errorf("a missing library: %v", err)
	}
}
