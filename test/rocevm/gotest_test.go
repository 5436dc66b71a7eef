package rocevm

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTestCommand(t *testing.T) {
	b := &TestBinary{Package: "example.com/a/b", dir: testRoot + "/example.com/a/b"}
	c := b.Command(TestOptions{Args: []string{"-test.run=X"}}, time.Minute)
	want := "/test/example.com/a/b/b.test -test.v=test2json -test.paniconexit0 -test.timeout=45s -test.run=X"
	if got := strings.Join(c.Argv, " "); got != want || c.Dir != b.dir {
		t.Errorf("got %s in %s", got, c.Dir)
	}
	short := b.Command(TestOptions{}, 10*time.Second)
	if !slices.Contains(short.Argv, "-test.timeout=5s") {
		t.Errorf("a short timeout: %v", short.Argv)
	}
}
