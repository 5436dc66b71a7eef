package host

import (
	"bytes"
	"strings"
	"testing"
)

func TestTailKeepsTheEnd(t *testing.T) {
	var last lastWords
	for range 3 {
		if n, err := last.Write(bytes.Repeat([]byte("x"), tailSize)); n != tailSize || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := last.Write([]byte("end\n")); err != nil {
		t.Fatal(err)
	}
	if s := last.String(); len(s) > tailSize || !strings.HasSuffix(s, "xend") {
		t.Errorf("%d bytes are kept, ending in %q", len(s), s[len(s)-4:])
	}
}
