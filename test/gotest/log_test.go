package gotest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// testOutput is what a test binary prints with -test.v=test2json.
const testOutput = "\x16=== RUN   TestGood\n    a_test.go:5: a word\n\x16--- PASS: TestGood (0.10s)\n\x16=== NAME  \n" +
	"\x16=== RUN   TestSkipped\n\x16--- SKIP: TestSkipped (0.00s)\n\x16=== NAME  \n" +
	"\x16=== RUN   TestBad\n\x16=== RUN   TestBad/sub\n\x16=== NAME  TestBad/sub\n    a_test.go:9: wrong\n\x16--- FAIL: TestBad/sub (0.00s)\n\x16--- FAIL: TestBad (0.00s)\n\x16=== NAME  \n"

func tally(t *testing.T, text string, log *bytes.Buffer) Tally {
	t.Helper()
	events, err := NewLog(t.Context(), "example.com/x", log)
	if err != nil {
		t.Fatal(err)
	}
	// The guest cuts the stream anywhere.
	for len(text) > 0 {
		n := min(7, len(text))
		if _, err := events.Write([]byte(text[:n])); err != nil {
			t.Fatal(err)
		}
		text = text[n:]
	}
	got, err := events.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestTally(t *testing.T) {
	var log bytes.Buffer
	got := tally(t, testOutput+"\x16FAIL\n", &log)
	if !slices.Equal(got.Passed, []string{"TestGood"}) || !slices.Equal(got.Skipped, []string{"TestSkipped"}) || len(got.Unfinished) != 0 {
		t.Errorf("got %+v", got)
	}
	slices.Sort(got.Failed)
	if !slices.Equal(got.Failed, []string{"TestBad", "TestBad/sub"}) || !got.Ended || got.OK {
		t.Errorf("got %+v", got)
	}
	if names := got.Names(); !slices.Equal(names, []string{"TestBad/sub"}) {
		t.Errorf("to look at: %v", names)
	}
	if out := got.Output["TestBad/sub"]; !strings.Contains(out, "wrong") || got.Output["TestGood"] != "" || got.Times["TestGood"] != 0.1 {
		t.Errorf("output %q, times %v", got.Output, got.Times)
	}
	for line := range strings.Lines(log.String()) {
		var event struct{ Action, Package string }
		if err := json.Unmarshal([]byte(line), &event); err != nil || event.Action == "" || event.Package != "example.com/x" {
			t.Errorf("line %q of the log: %v", line, err)
		}
	}
}

func TestTallyOfAPass(t *testing.T) {
	got := tally(t, "\x16=== RUN   TestGood\n\x16--- PASS: TestGood (0.10s)\n\x16=== NAME  \n\x16PASS\n", &bytes.Buffer{})
	if !got.Ended || !got.OK || len(got.Passed) != 1 {
		t.Errorf("got %+v", got)
	}
}

// TestTallyOfALostGuest cuts the output in the middle of a test.
func TestTallyOfALostGuest(t *testing.T) {
	got := tally(t, "\x16=== RUN   TestGood\n\x16--- PASS: TestGood (0.10s)\n\x16=== NAME  \n\x16=== RUN   TestLost\nhalf a li", &bytes.Buffer{})
	if got.OK || !slices.Equal(got.Unfinished, []string{"TestLost"}) {
		t.Errorf("got %+v", got)
	}
}

func TestHumanLine(t *testing.T) {
	for line, want := range map[string]string{
		"\x16=== RUN   TestX\n":        "=== RUN   TestX\n",
		"\x16=== NAME  TestX\n":        "",
		"partial\x16=== NAME  TestX\n": "partial\n",
		"plain\n":                      "plain\n",
	} {
		if got := HumanLine(line); got != want {
			t.Errorf("%q became %q, want %q", line, got, want)
		}
	}
}

func TestListNeedsTests(t *testing.T) {
	_, err := List(t.Context(), t.TempDir(), Options{}, "github.com/remora-kv/remora/test/rocevm/cmd/agent")
	if err == nil || !strings.Contains(err.Error(), "no tests") {
		t.Errorf("got %v", err)
	}
}
