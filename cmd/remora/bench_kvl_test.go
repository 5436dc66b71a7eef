package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBenchKVL(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	code, out, errOut := runCmd(t, "bench", "kvl", "--scale", "0.001", "--ops", "20", "--trials", "1", "--memcached-users", "50", "--report", dir)
	if code != exitOK || !strings.Contains(errOut, dir) {
		t.Fatalf("exit code %d, standard error %q", code, errOut)
	}
	for _, words := range []string{"links are faster by", "search  memcached", "page    rfp", "item    lookup", "results of all paths were compared"} {
		if !strings.Contains(out, words) {
			t.Errorf("the table does not contain %q:\n%s", words, out)
		}
	}
	for name, words := range map[string]string{"rows.csv": "match,memcached,tcp,", "fig-kvl.svg": "<svg", "index.html": "Links against keys"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(text), words) {
			t.Errorf("%s: %.200s, %v", name, text, err)
		}
	}
	code, _, errOut = runCmd(t, "bench", "kvl", "--app", "game")
	if code != exitUsage || !strings.Contains(errOut, "game") {
		t.Errorf("exit code %d, %q", code, errOut)
	}
}
